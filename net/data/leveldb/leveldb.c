/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges the sources of records: the logs, each table of level 0, and each higher level, whose
 * tables do not overlap. The latest write of a key is the first in the merged order, and the others
 * are skipped.
 */
#define _POSIX_C_SOURCE 200809L
#include "net/data/leveldb/leveldb.h"

#include "net/data/leveldb/manifest.h"
#include "net/data/leveldb/recent.h"
#include "net/data/leveldb/table.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of consecutive tables, read from the first to the last. */
struct source {
    struct ferry__leveldb_table table;
    size_t next, end; /* the tables not opened yet, indices of manifest.tables.numbers */
    bool ended;
};

struct ferry__leveldb {
    char *folder;
    struct ferry__leveldb_manifest manifest;
    struct ferry__leveldb_recent recent;
    size_t next_write; /* the position in the logs */
    struct source *sources;
    size_t count;
    size_t at;          /* the source of the current record; `count` means the logs */
    unsigned char *key; /* a copy of the key of the last merged write */
    size_t key_room;
    struct ferry__leveldb_key merged;
    bool begun;
    struct ferry__span value;
};

/* ---- sources --------------------------------------------------------------------------------- */

/* Makes a table's file name. Older versions of LevelDB use the suffix .sst. */
static void table_name(const struct ferry__leveldb *db, size_t i, char name[32])
{
    unsigned long long number = db->manifest.tables.numbers[i];

    snprintf(name, 32, "%06llu.ldb", number);
    if (ferry__leveldb_file_exists(db->folder, name))
        return;
    snprintf(name, 32, "%06llu.sst", number);
    if (!ferry__leveldb_file_exists(db->folder, name))
        snprintf(name, 32, "%06llu.ldb", number);
}

/* Moves a source to its next record, which may be in its next table. */
static int step_source(struct ferry__leveldb *db, struct source *s)
{
    bool end = true;
    char name[32];
    int err = FERRY_OK;

    if (s->table.key.at)
        err = ferry__leveldb_table_next(&s->table, &end);
    while (!err && end && s->next < s->end) {
        table_name(db, s->next++, name);
        err = ferry__leveldb_table_open(db->folder, name, &s->table);
        if (!err)
            err = ferry__leveldb_table_next(&s->table, &end);
    }
    s->ended = end;
    return err;
}

static int step(struct ferry__leveldb *db, size_t source)
{
    if (source < db->count)
        return step_source(db, &db->sources[source]);
    db->next_write++;
    return FERRY_OK;
}

/* The current key of a source; NULL: it has ended. */
static const struct ferry__leveldb_key *key_of(const struct ferry__leveldb *db, size_t source)
{
    if (source < db->count)
        return db->sources[source].ended ? NULL : &db->sources[source].table.key;
    return db->next_write < db->recent.count ? &db->recent.writes[db->next_write].key : NULL;
}

/* ---- merging --------------------------------------------------------------------------------- */

static int out_of_order(const struct ferry__leveldb *db, size_t source)
{
    const char *why = "its keys are not in ascending order";

    if (source < db->count)
        return ferry__leveldb_damaged(&db->sources[source].table.file,
                                      db->sources[source].table.data.begin, why);
    return ferry__leveldb_damaged(&db->recent.logs[db->recent.writes[db->next_write].log].file,
                                  db->recent.writes[db->next_write].batch, why);
}

static const struct ferry__leveldb_key *pick(const struct ferry__leveldb *db, size_t *out_source)
{
    const struct ferry__leveldb_key *least = NULL;

    for (size_t i = 0; i <= db->count; i++) {
        const struct ferry__leveldb_key *key = key_of(db, i);

        if (key && (!least || ferry__leveldb_compare(key, least) < 0)) {
            least = key;
            *out_source = i;
        }
    }
    return least;
}

static int keep_key(struct ferry__leveldb *db, const struct ferry__leveldb_key *key)
{
    int err = ferry__leveldb_room(db->folder, &db->key, &db->key_room, key->size + 1);

    if (err)
        return err;
    if (key->size)
        memcpy(db->key, key->at, key->size);
    db->merged = (struct ferry__leveldb_key){ db->key, key->size, key->write };
    db->begun = true;
    return FERRY_OK;
}

/* Finds the first record from the sources' positions on; *out_end: no record is left. */
static int find_record(struct ferry__leveldb *db, bool *out_end)
{
    int err = FERRY_OK;

    while (!err) {
        const struct ferry__leveldb_key *key = pick(db, &db->at);
        bool earlier;

        *out_end = !key;
        if (!key)
            return FERRY_OK;
        if (db->begun && ferry__leveldb_compare(&db->merged, key) >= 0)
            return out_of_order(db, db->at);
        earlier = db->begun && ferry__leveldb_compare_names(&db->merged, key) == 0;
        err = keep_key(db, key);
        if (!err && !earlier && (db->merged.write & 255) == FERRY__LEVELDB_VALUE)
            return FERRY_OK;
        if (!err)
            err = step(db, db->at);
    }
    return err;
}

/*
 * ---- stepping -----------------------------------------------------------------------------------
 */

static int go_first(struct ferry__leveldb *db)
{
    bool end = true;
    size_t i;
    int err = FERRY_OK;

    db->begun = false;
    db->next_write = 0;
    for (i = 0; !err && i < db->count; i++) {
        db->sources[i].next = db->manifest.tables.begins[i];
        db->sources[i].end = db->manifest.tables.begins[i + 1];
        db->sources[i].table.key.at = NULL;
        err = step_source(db, &db->sources[i]);
    }
    if (!err)
        err = find_record(db, &end);
    return !err && end ? ferry_error_set(FERRY_EFORMAT, "%.400s: it has no records", db->folder)
                       : err;
}

/* Moves to the next record. *out_wrapped: it is the first record again. */
static int go_next(struct ferry__leveldb *db, bool *out_wrapped)
{
    int err = step(db, db->at);

    if (!err)
        err = find_record(db, out_wrapped);
    return err || !*out_wrapped ? err : go_first(db);
}

static int take_value(struct ferry__leveldb *db)
{
    if (db->at == db->count)
        return ferry__leveldb_recent_value(&db->recent, db->next_write, &db->value);
    db->value = db->sources[db->at].table.data.value;
    return FERRY_OK;
}

int ferry__leveldb_next(struct ferry__leveldb *db)
{
    bool wrapped;
    int err = go_next(db, &wrapped);

    return err ? err : take_value(db);
}

int ferry__leveldb_seek(struct ferry__leveldb *db, uint64_t steps)
{
    uint64_t left = steps, walked = 0;
    bool wrapped;
    int err = go_first(db);

    while (!err && left) {
        err = go_next(db, &wrapped);
        walked++;
        left--;
        if (!err && wrapped) { /* the database has as many records as steps were made */
            left %= walked;
            walked = 0;
        }
    }
    return err ? err : take_value(db);
}

void ferry__leveldb_key(const struct ferry__leveldb *db, const unsigned char **out,
                        size_t *out_size)
{
    *out = db->merged.at;
    *out_size = db->merged.size;
}

void ferry__leveldb_value(const struct ferry__leveldb *db, const void **out, size_t *out_size)
{
    *out = db->value.at;
    *out_size = db->value.left;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Reports a missing table at once, not when it is first read. */
static int check_tables(const struct ferry__leveldb *db)
{
    size_t i, n = db->manifest.tables.begins[db->count];
    char name[32];

    for (i = 0; i < n; i++) {
        table_name(db, i, name);
        if (!ferry__leveldb_file_exists(db->folder, name))
            return ferry_error_set(FERRY_EFORMAT, "%.400s: LevelDB: its table %s is missing",
                                   db->folder, name);
    }
    return FERRY_OK;
}

static int open_files(struct ferry__leveldb *db)
{
    int err = ferry__leveldb_manifest_read(db->folder, &db->manifest);

    if (err)
        return err;
    db->count = db->manifest.tables.sources;
    db->sources = calloc(db->count + 1, sizeof *db->sources);
    if (!db->sources)
        return ferry__leveldb_no_memory(db->folder);
    err = check_tables(db);
    if (!err)
        err = ferry__leveldb_recent_read(db->folder, &db->manifest, &db->recent);
    if (!err)
        err = go_first(db);
    return err ? err : take_value(db);
}

int ferry__leveldb_open(const char *folder, struct ferry__leveldb **out)
{
    struct ferry__leveldb *db = calloc(1, sizeof *db);
    int err;

    if (!db)
        return ferry__leveldb_no_memory(folder);
    db->folder = strdup(folder);
    err = db->folder ? open_files(db) : ferry__leveldb_no_memory(folder);
    if (err)
        ferry__leveldb_close(db);
    else
        *out = db;
    return err;
}

void ferry__leveldb_close(struct ferry__leveldb *db)
{
    if (!db)
        return;
    for (size_t i = 0; db->sources && i < db->count; i++)
        ferry__leveldb_table_close(&db->sources[i].table);
    free(db->sources);
    ferry__leveldb_recent_free(&db->recent);
    ferry__leveldb_manifest_free(&db->manifest);
    free(db->key);
    free(db->folder);
    free(db);
}
