/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every allocation that opening a runtime and using it takes fails once. The program is linked with
 * --wrap, so that the core's calls come here first; while `armed`, number `left` of them fails.
 */

static _Thread_local bool armed;
static _Thread_local unsigned left;
static _Thread_local bool failed;

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

/* ---- the cases ------------------------------------------------------------------------------ */

/* One use of everything, in which allocation number `n` fails. Whether one did. */
static bool use_runtime(unsigned n)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int err, count = -1;

    left = n;
    failed = false;
    armed = true;
    err = ferry_runtime_open(NULL, &rt);
    CU_ASSERT(err == 0 || (err == FERRY_ENOMEM && !rt));
    if (!err) {
        err = ferry_runtime_set_option(rt, "beta", "devices", "3");
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM || err == FERRY_EBUSY);
        err = ferry_runtime_device(rt, NULL, &dev);
        CU_ASSERT(err == 0 || (failed && !dev));
        err = ferry_runtime_enumerate(rt, &count);
        CU_ASSERT((err == 0 && count >= 0) || (err == FERRY_ENOMEM && count == -1));
    }
    ferry_runtime_close(rt);
    armed = false;
    return failed;
}

static void every_allocation_of_a_runtime_may_fail(void)
{
    const char *folder = fakes_folder();
    char text[4096];
    unsigned n;

    fakes_put(folder, "open_fails", NULL);
    fakes_put(folder, "alpha", NULL);
    fakes_put(folder, "beta", NULL);
    fakes_write(folder, "ferry_text.so", "no plugin");
    snprintf(text, sizeof(text),
             "[ferry]\nbackend = open_fails, alpha, beta\n[plugin alpha]\nlibrary = "
             "ferry_alpha.so\npool_limit = 1MiB\noption.devices = 1\n[plugin none]\n");
    setenv("FERRY_PLUGIN_PATH", folder, 1);
    setenv("FERRY_CONF", fakes_write(folder, "c.conf", text), 1);
    unsetenv("FERRY_BACKEND");
    for (n = 1; use_runtime(n); n++)
        ;
    CU_ASSERT(n > 40); /* so many there are at the least */
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_allocation_of_a_runtime_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "runtime-oom", cases, FERRY_TEST_COUNT(cases));
}
