/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/status.h"
#include "core/base/text.h"

#include <ferry/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024

static _Thread_local struct {
    int code;
    char line[LINE_SIZE];
} latest;

/*
 * A message is one line without control characters, even if a vendor's or a file's text contains
 * some, and is never cut inside a character.
 */
static void make_line(char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        size_t n = text[i] >= ' ' && text[i] < 0x7f ? 0 : ferry__text_control(text + i);

        if (n)
            memset(text + i, n > 1 ? '?' : ' ', n);
    }
    if (length < LINE_SIZE - 1)
        return;
    while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--;
    if (length > 0 && (unsigned char)text[length - 1] >= 0xc0)
        length--;
    text[length] = '\0';
}

static int set_latest(int code, const char *fmt, va_list args)
{
    char line[LINE_SIZE]; /* an argument may be the former message */

    if (vsnprintf(line, sizeof(line), fmt, args) < 0)
        line[0] = '\0';
    make_line(line);
    memcpy(latest.line, line, strlen(line) + 1);
    latest.code = code;
    return code;
}

int ferry__error(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    code = set_latest(code, fmt, args);
    va_end(args);
    return code;
}

int ferry_error_set(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    code = set_latest(code, fmt, args);
    va_end(args);
    return code;
}

int ferry__refuse(struct ferry__refusal *refusal, int code, const char *hint, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(refusal->reason, sizeof(refusal->reason), fmt, args) < 0)
        refusal->reason[0] = '\0';
    va_end(args);
    snprintf(refusal->hint, sizeof(refusal->hint), "%s", hint);
    refusal->code = code;
    return code;
}

int ferry__error_null_ref(const char *what)
{
    if (latest.code != FERRY_OK)
        return latest.code;
    return ferry__error(FERRY_EINVAL, "%s: the reference is NULL", what);
}

const char *ferry_last_error(void)
{
    return latest.line;
}

int ferry_last_error_code(void)
{
    return latest.code;
}

const char *ferry_strerror(int code)
{
    switch (code) {
#define STATUS_CASE(name, value, text) \
    case FERRY_##name:                 \
        return text;
        FERRY_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "unknown error";
    }
}

int ferry_version_number(void)
{
    return FERRY_VERSION;
}

const char *ferry_version(void)
{
    return PACKAGE_VERSION;
}
