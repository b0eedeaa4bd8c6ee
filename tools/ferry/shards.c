/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "shards.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".safetensors"
#define INDEX  ".safetensors.index.json"

struct shard {
    ferry_io_writer *out; /* NULL after the commit */
    char *path;
    uint64_t left; /* the bytes of values that are not yet written */
};

struct shards {
    char *base; /* the path without a suffix */
    uint64_t size;
    json_t *metadata;
    ferry_io_entry *entries;
    size_t count, room;
    struct shard *files; /* created at the first value */
    size_t file_count, at;
};

static int no_memory(const struct shards *s)
{
    return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", s ? s->base : "shards");
}

uint64_t shards_size(const char *text)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = { { "", 1 },           { "KB", 1000 },
                  { "MB", 1000000 },   { "GB", 1000000000 },
                  { "KiB", 1u << 10 }, { "MiB", 1u << 20 },
                  { "GiB", 1u << 30 } };
    char *end;
    double number = strtod(text, &end);

    for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].name) == 0 && number > 0 && number < 1e9)
            return (uint64_t)(number * (double)units[i].bytes);
    return end != text && !*end && number >= 1e9 && number < 1e18 ? (uint64_t)number : 0;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* The path without the suffix of an index or of a single file. */
static char *base_of(const char *path)
{
    static const char *const suffixes[] = { INDEX, SUFFIX };
    size_t length = strlen(path);

    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(suffixes[i]);

        if (length > n && strcmp(path + length - n, suffixes[i]) == 0 &&
            path[length - n - 1] != '/')
            return strndup(path, length - n);
    }
    return strdup(path);
}

int shards_create(const char *path, uint64_t size, struct shards **out)
{
    struct shards *s = calloc(1, sizeof(*s));

    if (!s)
        return no_memory(NULL);
    s->size = size;
    s->base = base_of(path);
    s->metadata = json_object();
    if (!s->base || !s->metadata) {
        shards_abort(s);
        return no_memory(NULL);
    }
    *out = s;
    return FERRY_OK;
}

int shards_set_metadata(struct shards *s, const char *key, const char *value)
{
    if (json_object_set_new(s->metadata, key, json_string(value)) == 0)
        return FERRY_OK;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: metadata %.200s: is not UTF-8", s->base,
                           key);
}

int shards_declare(struct shards *s, const ferry_io_entry *entry)
{
    size_t room = s->room ? s->room * 2 : 64;
    ferry_io_entry *entries;

    if (s->count == s->room) {
        entries = realloc(s->entries, room * sizeof(*entries));
        if (!entries)
            return no_memory(s);
        s->entries = entries;
        s->room = room;
    }
    s->entries[s->count++] = *entry;
    return FERRY_OK;
}

/* The size of the values that the caller writes. */
static uint64_t given_bytes(const ferry_io_entry *entry)
{
    return (uint64_t)entry->count * ferry_dtype_size(entry->dtype);
}

/*
 * The size of the values in the file: the name of a type that ferry lacks ("U16", "F8_E4M3") gives
 * its bits.
 */
static uint64_t bytes_of(const ferry_io_entry *entry)
{
    bool is_rows = entry->storage && strcmp(entry->storage, FERRY_IO_I8_ROWS) == 0;
    size_t bits = entry->storage ? strcspn(entry->storage, "0123456789") : 0;
    unsigned long width = entry->storage ? strtoul(entry->storage + bits, NULL, 10) / 8 : 0;

    if (!entry->storage || is_rows) /* safetensors has rows of integers as F32 */
        return given_bytes(entry);
    return (uint64_t)entry->count * (width ? width : 1); /* the type is BOOL */
}

/* Whether the next array starts a new file, after one that has `used` bytes. */
static bool is_full(const struct shards *s, uint64_t used, const ferry_io_entry *entry)
{
    return used > 0 && (bytes_of(entry) > s->size || used > s->size - bytes_of(entry));
}

static size_t count_files(const struct shards *s)
{
    size_t n = 1;
    uint64_t used = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (is_full(s, used, &s->entries[i])) {
            n++;
            used = 0;
        }
        used += bytes_of(&s->entries[i]);
    }
    return n;
}

static int open_file(const struct shards *s, struct shard *file, size_t number)
{
    size_t size = strlen(s->base) + 64;
    const char *key;
    json_t *value;
    int err;

    file->path = malloc(size);
    if (!file->path)
        return no_memory(s);
    snprintf(file->path, size, "%s-%05zu-of-%05zu" SUFFIX, s->base, number + 1, s->file_count);
    err = ferry_io_writer_create(file->path, FERRY_IO_SAFETENSORS, &file->out);
    json_object_foreach(s->metadata, key, value)
    {
        if (!err)
            err = ferry_io_writer_set_metadata(file->out, key, json_string_value(value));
    }
    return err;
}

/* Assigns each array to a file, once all are declared. */
static int begin(struct shards *s)
{
    uint64_t used = 0;
    size_t at = 0;
    int err;

    s->file_count = count_files(s);
    s->files = calloc(s->file_count, sizeof(*s->files));
    if (!s->files) {
        s->file_count = 0;
        return no_memory(s);
    }
    err = open_file(s, &s->files[0], 0);
    for (size_t i = 0; i < s->count && !err; i++) {
        if (is_full(s, used, &s->entries[i])) {
            used = 0;
            at++;
            err = open_file(s, &s->files[at], at);
        }
        if (!err)
            err = ferry_io_writer_declare(s->files[at].out, &s->entries[i]);
        used += bytes_of(&s->entries[i]);
        s->files[at].left += given_bytes(&s->entries[i]);
        s->entries[i].index = (int64_t)at; /* from here on it is the index within its file */
    }
    return err;
}

int shards_copy_attributes(struct shards *s, ferry_io *from, ferry_io_attribute_dropped_fn left,
                           void *arg)
{
    int err = s->files ? FERRY_OK : begin(s);

    return err ? err : ferry_io_writer_copy_attributes(s->files[0].out, from, left, arg);
}

/* ---- values --------------------------------------------------------------------------------- */

int shards_write(struct shards *s, const void *values, size_t size)
{
    int err = s->files ? FERRY_OK : begin(s);

    while (!err && s->at + 1 < s->file_count && s->files[s->at].left == 0)
        s->at++;
    if (err)
        return err;
    err = ferry_io_writer_write_values(s->files[s->at].out, values, size);
    if (!err)
        s->files[s->at].left -= size;
    return err;
}

/* ---- commit --------------------------------------------------------------------------------- */

static int fail_index(const struct shards *s, const char *what)
{
    return ferry_error_set(FERRY_EIO, "%.400s" INDEX ": %s: %s", s->base, what, strerror(errno));
}

/* Makes the index: {"metadata": {"total_size": …}, "weight_map": {NAME: FILE, …}} */
static json_t *make_index(const struct shards *s)
{
    json_t *map = json_object();
    uint64_t total = 0;

    for (size_t i = 0; i < s->count; i++) {
        const char *path = s->files[s->entries[i].index].path, *slash = strrchr(path, '/');

        total += bytes_of(&s->entries[i]);
        if (json_object_set_new(map, s->entries[i].name, json_string(slash ? slash + 1 : path)) !=
            0) {
            json_decref(map);
            return NULL;
        }
    }
    return json_pack("{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)total, "weight_map",
                     map);
}

/* Writes a text file under a temporary name and renames it when complete. */
static int write_text(const struct shards *s, const char *text, const char *path, const char *temp)
{
    int fd = open(temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int err = FERRY_OK;

    if (!file) {
        err = fail_index(s, "creating it");
        if (fd >= 0)
            close(fd);
        return err;
    }
    if (fputs(text, file) == EOF || fputc('\n', file) == EOF || fflush(file) != 0 || fsync(fd) != 0)
        err = fail_index(s, "writing it");
    if (fclose(file) != 0 && !err)
        err = fail_index(s, "writing it");
    if (!err && rename(temp, path) != 0)
        err = fail_index(s, "renaming it");
    if (err)
        unlink(temp);
    return err;
}

static int write_index(const struct shards *s, const char *path)
{
    json_t *document = make_index(s);
    char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
    size_t size = strlen(path) + 32;
    char *temp = malloc(size);
    int err;

    if (text && temp) {
        snprintf(temp, size, "%s.%ld.tmp", path, (long)getpid());
        err = write_text(s, text, path, temp);
    } else {
        err = no_memory(s);
    }
    free(temp);
    free(text);
    json_decref(document);
    return err;
}

static int commit_files(struct shards *s, const char *index)
{
    int err = s->files ? FERRY_OK : begin(s);
    size_t done = 0;

    if (!err && unlink(index) != 0 && errno != ENOENT)
        err = fail_index(s, "removing the old one");
    for (; done < s->file_count && !err; done += !err) {
        err = ferry_io_writer_commit(s->files[done].out);
        s->files[done].out = NULL;
    }
    if (!err)
        err = write_index(s, index);
    while (err && done-- > 0)
        unlink(s->files[done].path);
    return err;
}

int shards_commit(struct shards *s)
{
    size_t size = strlen(s->base) + sizeof(INDEX);
    char *index = malloc(size);
    int err;

    if (index) {
        snprintf(index, size, "%s" INDEX, s->base);
        err = commit_files(s, index);
    } else {
        err = no_memory(s);
    }
    free(index);
    shards_abort(s);
    return err;
}

void shards_abort(struct shards *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->file_count; i++) {
        ferry_io_writer_abort(s->files[i].out);
        free(s->files[i].path);
    }
    json_decref(s->metadata);
    free(s->files);
    free(s->entries);
    free(s->base);
    free(s);
}
