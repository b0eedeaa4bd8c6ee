/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/data/leveldb/recent.h"

#include <ferry/status.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_HEADER = 12 }; /* the number of its first write, and the count of writes */

/*
 * ---- live logs ----------------------------------------------------------------------------------
 */

/* The number in a name such as "000123.log". */
static bool log_number(const char *name, uint64_t *out)
{
    char *end;

    if (name[0] < '0' || name[0] > '9')
        return false;
    errno = 0;
    *out = strtoull(name, &end, 10);
    return !errno && strcmp(end, ".log") == 0;
}

static int add_log(struct ferry__leveldb_recent *r, const char *folder, uint64_t number)
{
    if (r->log_count == r->log_room) {
        size_t room = r->log_room ? 2 * r->log_room : 8;
        uint64_t *grown = realloc(r->numbers, room * sizeof *grown);

        if (!grown)
            return ferry__leveldb_no_memory(folder);
        r->numbers = grown;
        r->log_room = room;
    }
    r->numbers[r->log_count++] = number;
    return FERRY_OK;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int find_logs(struct ferry__leveldb_recent *r, const char *folder,
                     const struct ferry__leveldb_manifest *manifest)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    uint64_t number;
    int err = FERRY_OK;

    if (!dir)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", folder, strerror(errno));
    while (!err && (entry = readdir(dir)))
        if (log_number(entry->d_name, &number) &&
            (number >= manifest->first_log || (number && number == manifest->other_log)))
            err = add_log(r, folder, number);
    closedir(dir);
    if (!err && r->log_count)
        qsort(r->numbers, r->log_count, sizeof *r->numbers, by_number);
    return err;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int add_write(struct ferry__leveldb_recent *r, const char *folder,
                     struct ferry__leveldb_write write, struct ferry__span key)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        struct ferry__leveldb_write *grown = realloc(r->writes, room * sizeof *grown);

        if (!grown)
            return ferry__leveldb_no_memory(folder);
        r->writes = grown;
        r->room = room;
    }
    if (r->keys_room - r->keys_size < key.left) {
        size_t room = 2 * (r->keys_size + key.left);
        unsigned char *grown = realloc(r->keys, room);

        if (!grown)
            return ferry__leveldb_no_memory(folder);
        r->keys = grown;
        r->keys_room = room;
    }
    if (key.left)
        memcpy(r->keys + r->keys_size, key.at, key.left);
    write.key_at = r->keys_size;
    r->keys_size += key.left;
    r->writes[r->count++] = write;
    return FERRY_OK;
}

/*
 * Reads a write of a batch in the log's record: its kind, its key, and a value unless it is a
 * deletion.
 */
static int take_write(struct ferry__leveldb_recent *r, struct ferry__leveldb_log *log,
                      struct ferry__span *s, struct ferry__leveldb_write write, uint64_t number)
{
    struct ferry__span key, value = { s->at, 0 };
    const unsigned char *kind;

    if (!ferry__span_take(s, 1, &kind) || *kind > FERRY__LEVELDB_VALUE ||
        !ferry__span_string(s, &key) ||
        (*kind == FERRY__LEVELDB_VALUE && !ferry__span_string(s, &value)))
        return ferry__leveldb_damaged(&log->file, log->begin, "a write of its batch is damaged");
    write.key = (struct ferry__leveldb_key){ NULL, key.left, number << 8 | *kind };
    write.value_at = (size_t)(value.at - log->record);
    write.value_size = value.left;
    return add_write(r, log->file.folder, write, key);
}

static int take_batch(struct ferry__leveldb_recent *r, size_t i)
{
    struct ferry__leveldb_log *log = &r->logs[i];
    struct ferry__leveldb_write write = { .log = i, .batch = log->begin };
    struct ferry__span s = { log->record, log->size };
    const unsigned char *header;
    uint64_t first, count, k;
    int err = FERRY_OK;

    if (!ferry__span_take(&s, BATCH_HEADER, &header))
        return ferry__leveldb_damaged(&log->file, log->begin, "a batch is too short");
    first = ferry__le(header, 8);
    count = ferry__le(header + 8, 4);
    if (first >> 56)
        return ferry__leveldb_damaged(&log->file, log->begin, "a batch's number is too large");
    for (k = 0; !err && k < count; k++)
        err = take_write(r, log, &s, write, first + k);
    return !err && s.left ? ferry__leveldb_damaged(&log->file, log->begin,
                                                   "a batch has more bytes than writes")
                          : err;
}

static int read_log(struct ferry__leveldb_recent *r, const char *folder, size_t i)
{
    bool end = false;
    char name[32];
    int err;

    snprintf(name, sizeof name, "%06llu.log", (unsigned long long)r->numbers[i]);
    err = ferry__leveldb_log_open(folder, name, &r->logs[i]);
    while (!err && !end) {
        err = ferry__leveldb_log_next(&r->logs[i], &end);
        if (!err && !end)
            err = take_batch(r, i);
    }
    return err;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct ferry__leveldb_write *x = a, *y = b;

    return ferry__leveldb_compare(&x->key, &y->key);
}

static int read_all(struct ferry__leveldb_recent *r, const char *folder,
                    const struct ferry__leveldb_manifest *manifest)
{
    int err = find_logs(r, folder, manifest);
    size_t i;

    if (err || !r->log_count)
        return err;
    r->logs = calloc(r->log_count, sizeof *r->logs);
    if (!r->logs)
        return ferry__leveldb_no_memory(folder);
    for (i = 0; !err && i < r->log_count; i++)
        err = read_log(r, folder, i);
    for (i = 0; !err && i < r->count; i++)
        r->writes[i].key.at = r->keys + r->writes[i].key_at;
    if (!err && r->count)
        qsort(r->writes, r->count, sizeof *r->writes, by_key);
    return err;
}

int ferry__leveldb_recent_read(const char *folder, const struct ferry__leveldb_manifest *manifest,
                               struct ferry__leveldb_recent *recent)
{
    int err;

    memset(recent, 0, sizeof *recent);
    err = read_all(recent, folder, manifest);
    if (err)
        ferry__leveldb_recent_free(recent);
    return err;
}

void ferry__leveldb_recent_free(struct ferry__leveldb_recent *r)
{
    for (size_t i = 0; r->logs && i < r->log_count; i++)
        ferry__leveldb_log_close(&r->logs[i]);
    free(r->logs);
    free(r->numbers);
    free(r->writes);
    free(r->keys);
    memset(r, 0, sizeof *r);
}

int ferry__leveldb_recent_value(struct ferry__leveldb_recent *r, size_t i, struct ferry__span *out)
{
    const struct ferry__leveldb_write *write = &r->writes[i];
    struct ferry__leveldb_log *log = &r->logs[write->log];
    bool end = false;
    int err = FERRY_OK;

    if (!log->size || log->begin != write->batch) {
        log->at = write->batch;
        err = ferry__leveldb_log_next(log, &end);
        if (err)
            log->size = 0;
    }
    if (err)
        return err;
    if (end || log->size < write->value_at + write->value_size)
        return ferry__leveldb_damaged(&log->file, write->batch,
                                      "it has changed since it was opened");
    *out = (struct ferry__span){ log->record + write->value_at, write->value_size };
    return FERRY_OK;
}
