/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/conf/conf_file.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/permit.h"
#include "core/base/place.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "ferry/plugins.conf"
#define MAX_FILE  (1u << 20)
#define CHUNK     4096u
#define MAX_WORD  49 /* the size in bytes of inih's buffer of a section or a key; inih truncates
                      * longer ones */

/*
 * inih gets one line at a time from next_line, so that ferry counts the lines, an indented line
 * does not continue the one before, and no line is truncated silently. A line that is too long for
 * its buffer is passed without the value, which is kept in `long_value`.
 */
struct reader {
    struct ferry__conf *conf;
    const char *path;
    const char *rest, *end;
    int line;
    int err;
    char *long_value;
};

static void origin_of(const struct reader *reader, char *out, size_t size)
{
    snprintf(out, size, "%s:%d", reader->path, reader->line);
}

static int line_error(struct reader *reader, const char *what)
{
    reader->err = ferry__error(FERRY_ECONF, "%s:%d: %s", reader->path, reader->line, what);
    return reader->err;
}

/* Records a section, because inih does not report a section without keys. */
static void meet_section(struct reader *reader, const char *line, size_t length)
{
    const char *close = memchr(line, ']', length);
    char origin[4200];
    char words[MAX_WORD + 1];

    if (!close) {
        line_error(reader, "a section's ] is missing");
        return;
    }
    for (const char *c = close + 1; c < line + length && *c != ';' && *c != '#'; c++)
        if (*c != ' ' && *c != '\t') {
            line_error(reader, "text after a section's ]");
            return;
        }
    length = (size_t)(close - line) - 1;
    if (length > MAX_WORD) {
        line_error(reader, "a section's name is too long");
        return;
    }
    memcpy(words, line + 1, length);
    words[length] = '\0';
    origin_of(reader, origin, sizeof(origin));
    reader->err = ferry__conf_on_section(reader->conf, words, origin);
}

/* Keeps the value of a line whose key has `before` bytes, without the comment at its end. */
static void keep_long_value(struct reader *reader, const char *line, size_t before, size_t length)
{
    const char *value = line + before;
    size_t size = 0;

    while (size < length - before &&
           !(value[size] == ';' && size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t')))
        size++;
    reader->long_value = ferry__text_trimmed(value, size);
    if (!reader->long_value)
        reader->err =
            ferry__error(FERRY_ENOMEM, "%s: no memory for line %d", reader->path, reader->line);
}

/* Checks one line, without its surrounding blanks, and returns how much of it to pass to inih. */
static size_t check_line(struct reader *reader, const char *line, size_t length, size_t room)
{
    size_t key = 0;

    free(reader->long_value);
    reader->long_value = NULL;
    if (length == 0 || line[0] == ';' || line[0] == '#')
        return 0;
    if (memchr(line, '\0', length)) {
        line_error(reader, "a NUL byte: this is not a text file");
        return 0;
    }
    if (line[0] == '[') {
        meet_section(reader, line, length);
        return reader->err ? 0 : (size_t)((const char *)memchr(line, ']', length) - line) + 1;
    }
    while (key < length && line[key] != '=' && line[key] != ':')
        key++;
    if (key == length || key == 0) {
        line_error(reader, "neither [section] nor key = value");
        return 0;
    }
    if (key > MAX_WORD) {
        line_error(reader, "a key is too long");
        return 0;
    }
    if (length <= room)
        return length;
    keep_long_value(reader, line, key + 1, length);
    return key + 1;
}

/* Reads one line as fgets does. inih calls it until NULL, and both count lines in the same way. */
static char *next_line(char *out, int size, void *stream)
{
    struct reader *reader = stream;
    const char *line = reader->rest;
    const char *newline;
    size_t length;

    if (reader->err || line == reader->end)
        return NULL;
    reader->line++;
    newline = memchr(line, '\n', (size_t)(reader->end - line));
    reader->rest = newline ? newline + 1 : reader->end;
    length = (size_t)((newline ? newline : reader->end) - line);
    if (reader->line == 1 && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        length -= 3;
    }
    while (length > 0 &&
           (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
        length--;
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    length = check_line(reader, line, length, (size_t)size - 2);
    if (reader->err)
        return NULL;
    memcpy(out, line, length);
    memcpy(out + length, "\n", 2);
    return out;
}

static int on_key(void *user, const char *section, const char *key, const char *value)
{
    struct reader *reader = user;
    char origin[4200];

    if (reader->err)
        return 0;
    origin_of(reader, origin, sizeof(origin));
    reader->err = ferry__conf_on_key(reader->conf, section, key,
                                     reader->long_value ? reader->long_value : value, origin);
    return reader->err == 0;
}

int ferry__conf_parse(struct ferry__conf *conf, const char *path, const char *bytes, size_t size)
{
    struct reader reader = { .conf = conf, .path = path, .rest = bytes, .end = bytes + size };
    int line = ini_parse_stream(next_line, &reader, on_key, &reader);

    free(reader.long_value);
    if (!reader.err && line > 0) {
        reader.line = line;
        line_error(&reader, "neither [section] nor key = value");
    }
    if (!reader.err && line < 0)
        reader.err = ferry__error(FERRY_ENOMEM, "%s: no memory for it", path);
    return reader.err;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int file_error(const char *path, const char *what)
{
    return ferry__error(FERRY_ECONF, "%s: %s", path, what);
}

/*
 * Reads to the end; a file that is not regular (/dev/null) has no known size. The caller frees
 * *bytes, also after a failure.
 */
static int read_all(int fd, const char *path, char **bytes, size_t *out_size)
{
    size_t size = 0, room = 0;

    while (size <= MAX_FILE) {
        ssize_t n;

        if (size == room) {
            char *longer = realloc(*bytes, room + CHUNK);

            if (!longer)
                return ferry__error(FERRY_ENOMEM, "%s: no memory for it", path);
            *bytes = longer;
            room += CHUNK;
        }
        n = read(fd, *bytes + size, room - size);
        if (n == 0) {
            *out_size = size;
            return 0;
        }
        if (n < 0 && errno != EINTR)
            return file_error(path, strerror(errno));
        size += n > 0 ? (size_t)n : 0;
    }
    return file_error(path, "longer than 1 MiB: this is not a configuration file");
}

/* A configuration file acts with the program's authority: no untrusted user may have written it. */
static int check_writers(const char *path, const struct stat *st)
{
    struct ferry__permitted last = { 0 };
    struct ferry__refusal refusal;
    struct ferry__trust trust;
    char real[PATH_MAX], loose[PATH_MAX];

    if (!realpath(path, real))
        return file_error(path, strerror(errno));
    ferry__trust_of_process(&trust);
    if (ferry__permit_file(real, st, &trust, &last, loose, &refusal))
        return ferry__error(refusal.code, "%s: %s%s%s", path, refusal.reason,
                            refusal.hint[0] ? "; better " : "", refusal.hint);
    if (loose[0])
        ferry__log(FERRY_LOG_WARN, "%s: %s can be written by its group; better chmod g-w %s", path,
                   loose, loose);
    return 0;
}

static int check_kind(int fd, const char *path)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return file_error(path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return file_error(path, "a folder, not a file");
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        return file_error(path, "not a file");
    return S_ISREG(st.st_mode) ? check_writers(path, &st) : 0;
}

/* Whether errno of an open says that the file does not exist, as far as this process may know. */
static bool is_absent(const char *path)
{
    struct stat st;

    return errno == ENOENT || errno == ENOTDIR || (errno == EACCES && stat(path, &st) != 0);
}

int ferry__conf_read(struct ferry__conf *conf, const char *path, bool must_exist)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *bytes = NULL;
    size_t size = 0;
    int err;

    if (fd < 0) {
        const char *why = strerror(errno);

        return !must_exist && is_absent(path) ? 0 : file_error(path, why);
    }
    err = check_kind(fd, path);
    if (!err)
        err = read_all(fd, path, &bytes, &size);
    if (!err)
        err = ferry__conf_parse(conf, path, bytes, size);
    free(bytes);
    close(fd);
    return err;
}

/* ---- which files ---------------------------------------------------------------------------- */

static int load_usual(struct ferry__conf *conf)
{
    const char *home = ferry__env_get("HOME");
    char path[PATH_MAX];
    int err = ferry__conf_read(conf, ferry__place(FERRY_SYSTEM_CONF, path), false);

    if (err || !home || home[0] != '/')
        return err;
    if (snprintf(path, sizeof(path), "%s/.config/" FILE_NAME, home) >= (int)sizeof(path))
        return 0; /* a file with a path of this length cannot exist */
    return ferry__conf_read(conf, path, false);
}

int ferry__conf_load(const char *path, struct ferry__conf **out)
{
    struct ferry__conf *conf = ferry__conf_create();
    int err;

    if (!conf)
        return FERRY_ENOMEM;
    if (!path)
        path = ferry__env_get("FERRY_CONF");
    err = path ? ferry__conf_read(conf, path, true) : load_usual(conf);
    if (err) {
        ferry__conf_destroy(conf);
        return err;
    }
    *out = conf;
    return 0;
}
