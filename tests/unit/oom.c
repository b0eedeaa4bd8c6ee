/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "oom.h"

#include <stdarg.h>
#include <stddef.h>

static _Thread_local bool armed;
static _Thread_local unsigned left;
static _Thread_local bool failed;

void oom_arm(unsigned n)
{
    left = n;
    failed = false;
    armed = true;
}

bool oom_disarm(void)
{
    armed = false;
    return failed;
}

bool oom_has_failed(void)
{
    return failed;
}

static bool fails_now(void)
{
    if (!armed || left == 0)
        return false;
    left--;
    failed = failed || left == 0;
    return left == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **out, const char *fmt, va_list args);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **out, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails_now() ? NULL : __real_realloc(block, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails_now() ? NULL : __real_strndup(text, size);
}

int __wrap_vasprintf(char **out, const char *fmt, va_list args)
{
    return fails_now() ? -1 : __real_vasprintf(out, fmt, args);
}
