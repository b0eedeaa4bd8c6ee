/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Output of text with '?' in place of characters that a terminal would interpret: lines, errors,
 * the library's log.
 */

/* The number of bytes of the UTF-8 sequence at `c`; 0 if it is not valid. */
static size_t sequence(const unsigned char *c, unsigned *out_code)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    unsigned code = n == 1 ? *c : n ? *c & (0x7fu >> n) : 0;

    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3fu);
    }
    *out_code = code;
    return n && code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

size_t tool_character(const char *text, bool *out_plain)
{
    unsigned code = 0;
    size_t n = sequence((const unsigned char *)text, &code);

    *out_plain = n > 0 && code >= ' ' && !(code >= 0x7f && code <= 0x9f) &&
                 !(code >= 0x200b && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
                 !(code >= 0x2060 && code <= 0x206f) && code != 0x61c && code != 0xfeff &&
                 (code & 0xfffe) != 0xfffe && !(code >= 0xe0000 && code <= 0xe0fff);
    return n ? n : 1;
}

unsigned tool_code_point(const char *text)
{
    unsigned code = 0;

    return sequence((const unsigned char *)text, &code) ? code : 0xfffd;
}

/* Replaces unprintable characters by '?', except the control characters in `kept`. */
static void replace(char *text, const char *kept)
{
    bool plain;

    for (size_t n; *text; text += n) {
        n = tool_character(text, &plain);
        if (!plain && !strchr(kept, *text))
            memset(text, '?', n);
    }
}

char *tool_printable(char *text)
{
    replace(text, "");
    return text;
}

void tool_print(const char *text)
{
    bool plain;

    for (size_t n; *text; text += n) {
        n = tool_character(text, &plain);
        if (plain)
            fwrite(text, 1, n, stdout);
        else
            putchar('?');
    }
}

void tool_vprint(FILE *to, const char *kept, const char *fmt, va_list args)
{
    char some[1024], *text = some;
    va_list again;
    int size;

    va_copy(again, args);
    size = vsnprintf(some, sizeof(some), fmt, args);
    if (size >= (int)sizeof(some) && (text = malloc((size_t)size + 1)))
        vsnprintf(text, (size_t)size + 1, fmt, again);
    va_end(again);
    text = text ? text : some; /* without memory only the beginning of the text is printed */
    if (size >= 0) {
        replace(text, kept);
        fputs(text, to);
    }
    if (text != some)
        free(text);
}

void tool_printf(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tool_vprint(stdout, "\n", fmt, args);
    va_end(args);
}

/* ---- errors --------------------------------------------------------------------------------- */

int tool_error(int status, const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    fputs("ferry: ", stderr);
    va_start(args, fmt);
    tool_vprint(stderr, "", fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

static void log_line(void *arg, int level, const char *text)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };

    (void)arg;
    text += strncmp(text, "ferry: ", 7) == 0 ? 7 : 0; /* skips the prefix, which the library's
                                                       * messages may have already */
    (void)tool_error(TOOL_OK, "%s: %s", names[level], text);
}

void tool_log(void)
{
    ferry_log_set_handler(log_line, NULL);
}

int tool_ferry_error(void)
{
    return tool_error(TOOL_FAILURE, "%s", ferry_last_error());
}
