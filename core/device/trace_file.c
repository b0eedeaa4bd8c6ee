/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "config.h"

#include "core/device/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char closing[] = "\n]}\n";

/* The end of a complete event: its position in the file, and the number of events before it. */
struct boundary {
    uint64_t at, events;
};

static struct {
    int fd;
    bool failed, told;
    int error;
    uint64_t written;        /* bytes of the file so far */
    struct boundary whole;   /* the end of the latest complete event, written or buffered */
    struct boundary in_file; /* the end of the latest event of which every byte was written */
    size_t used;
    char buffer[64u << 10];
} out = { .fd = -1 };

/* ---- bytes ---- */

/*
 * Truncates the file after the last complete event, because a part of an event is not valid JSON.
 */
static void end_file(int error)
{
    out.failed = true;
    out.error = error;
    out.used = 0;
    if (ftruncate(out.fd, (off_t)out.in_file.at) == 0 &&
        pwrite(out.fd, closing, sizeof closing - 1, (off_t)out.in_file.at) < 0)
        out.error = errno;
}

void ferry__trace_file_flush(void)
{
    const char *at = out.buffer;

    while (!out.failed && out.used) {
        ssize_t n = write(out.fd, at, out.used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            end_file(errno);
            return;
        }
        at += n;
        out.used -= (size_t)n;
        out.written += (uint64_t)n;
        if (out.whole.at <= out.written)
            out.in_file = out.whole;
    }
}

static void put_char(char c)
{
    if (out.used == sizeof out.buffer)
        ferry__trace_file_flush();
    if (!out.failed)
        out.buffer[out.used++] = c;
}

void ferry__trace_put(const char *text)
{
    while (*text)
        put_char(*text++);
}

/* ---- JSON ---- */

/*
 * The number of bytes of the UTF-8 character at `s`, in its shortest form and not a surrogate; 0 if
 * the bytes at `s` are not such a character.
 */
static unsigned utf8_length(const unsigned char *s)
{
    unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) /* this is true at the end of the string, too */
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) || s[0] > 0xf4)
        return 0;
    return n;
}

/*
 * Writes a string. A name may contain any bytes; invalid UTF-8 becomes the replacement character.
 */
void ferry__trace_put_string(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    char escaped[8];

    put_char('"');
    while (*s) {
        unsigned n = utf8_length(s);

        if (n == 0 || *s < 0x20 || *s == '"' || *s == '\\') {
            snprintf(escaped, sizeof escaped, "\\u%04x", n ? *s : 0xfffdu);
            ferry__trace_put(escaped);
            n = 1;
        } else {
            for (unsigned i = 0; i < n; i++)
                put_char((char)s[i]);
        }
        s += n;
    }
    put_char('"');
}

void ferry__trace_put_number(uint64_t number)
{
    char digits[21], *first = digits + sizeof digits - 1;

    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    ferry__trace_put(first);
}

void ferry__trace_put_time(uint64_t ns)
{
    ferry__trace_put_number(ns / 1000);
    put_char('.');
    for (unsigned place = 100; place; place /= 10)
        put_char((char)('0' + ns / place % 10));
}

void ferry__trace_begin(void)
{
    ferry__trace_put(out.whole.events ? ",\n" : "\n");
}

void ferry__trace_end(void)
{
    out.whole.at = out.written + out.used;
    out.whole.events++;
}

/* ---- the file ---- */

static const char *check_kind(int fd)
{
    struct stat st;

    if (fstat(fd, &st))
        return strerror(errno);
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        return "not a regular file";
    if (S_ISREG(st.st_mode) && ftruncate(fd, 0))
        return strerror(errno);
    return NULL;
}

const char *ferry__trace_file_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    const char *why =
        fd < 0 ? (errno == ENXIO ? "not a regular file" : strerror(errno)) : check_kind(fd);

    if (why) {
        if (fd >= 0)
            close(fd);
        return why;
    }
    (void)fcntl(fd, F_SETFL, 0); /* a write may wait for a slow terminal */
    out.fd = fd;
    ferry__trace_put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    out.whole.at = out.used;
    ferry__trace_file_flush();
    if (!out.failed)
        return NULL;
    close(fd);
    return strerror(out.error);
}

void ferry__trace_file_close(void)
{
    if (!out.failed)
        ferry__trace_put(closing);
    ferry__trace_file_flush();
    if (close(out.fd) && !out.failed) {
        out.failed = true;
        out.error = errno;
        out.in_file = out.whole;
    }
    out.fd = -1;
}

bool ferry__trace_file_failed(uint64_t *out_events, char *why, size_t size)
{
    if (!out.failed || out.told)
        return false;
    out.told = true;
    *out_events = out.in_file.events;
    snprintf(why, size, "%s", strerror(out.error));
    return true;
}
