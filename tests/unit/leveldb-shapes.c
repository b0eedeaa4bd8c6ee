/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FERRY_NET_HAVE_LEVELDB

#include "leveldb-shapes.h"

static char folder[] = "/tmp/ferry-test-leveldb-XXXXXX";

int run_with_shapes(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                    size_t count)
{
    char line[128];
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main(argc, argv, suite, cases, count);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line) == 0 ? status : 1;
}

const char *in_folder(const char *name)
{
    static char paths[4][128];
    static int at;

    at = (at + 1) % 4;
    snprintf(paths[at], sizeof paths[at], "%s/%s", folder, name);
    return paths[at];
}

void shell(const char *format, const char *a, const char *b)
{
    char line[512];

    snprintf(line, sizeof line, format, a, b);
    CU_ASSERT_EQUAL_FATAL(system(line), 0);
}

/* ---- databases of libleveldb ----------------------------------------------------------------- */

const struct shape shapes[SHAPE_COUNT] = {
    { "one", 1, 8, 20, 0, 1, false, 0, 0, 1 << 26, false, false },
    { "log", 300, 8, 100, 40, 10, false, 7, 5, 1 << 26, false, false },
    { "table", 300, 8, 100, 40, 10, false, 7, 5, 1 << 26, false, true },
    { "plain", 4000, 20, 200, 100, 50, true, 7, 5, 1 << 16, false, false },
    { "snappy", 4000, 20, 200, 100, 50, true, 7, 5, 1 << 16, true, false },
    { "levels", 20000, 60, 200, 0, 1000, true, 0, 9, 1 << 16, true, true },
};

void check(char *error)
{
    if (error)
        printf("     libleveldb: %s\n", error);
    CU_ASSERT_PTR_NULL_FATAL(error);
}

uint32_t mix(uint32_t n)
{
    n = (n ^ (n >> 16)) * UINT32_C(0x45d9f3b);
    n = (n ^ (n >> 16)) * UINT32_C(0x45d9f3b);
    return n ^ (n >> 16);
}

struct text {
    char bytes[100001];
    size_t size;
};

static void make_key(const struct shape *s, int i, struct text *key)
{
    int named = s->scattered ? (int)((uint64_t)i * 7919 % (uint64_t)s->records) : i;

    key->size = (size_t)s->key_size;
    memset(key->bytes, 'k', key->size);
    snprintf(key->bytes, 12, "%08d", named);
    if (s->key_size > 8)
        key->bytes[8] = '_';
}

/* Every second value is one repeated byte, which compresses. */
static void make_value(const struct shape *s, int round, int i, struct text *value)
{
    value->size = (size_t)s->value_size + mix((uint32_t)i) % 7;
    if (s->large_every && i % s->large_every == 0)
        value->size = 100000;
    for (size_t k = 0; k < value->size; k++)
        value->bytes[k] = (char)mix((uint32_t)(i * 31 + round) + (i % 2 ? (uint32_t)k : 0));
}

leveldb_t *open_db(const struct shape *s, const char *path)
{
    leveldb_options_t *options = leveldb_options_create();
    char *error = NULL;
    leveldb_t *db;

    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, s->buffer);
    leveldb_options_set_compression(options, s->compressed ? leveldb_snappy_compression
                                                           : leveldb_no_compression);
    db = leveldb_open(options, path, &error);
    check(error);
    leveldb_options_destroy(options);
    return db;
}

static void flush_batch(leveldb_t *db, leveldb_writebatch_t *batch)
{
    leveldb_writeoptions_t *how = leveldb_writeoptions_create();
    char *error = NULL;

    leveldb_write(db, how, batch, &error);
    check(error);
    leveldb_writebatch_clear(batch);
    leveldb_writeoptions_destroy(how);
}

static void write_round(const struct shape *s, leveldb_t *db, int round, int every)
{
    static struct text key, value;
    leveldb_writebatch_t *batch = leveldb_writebatch_create();

    for (int i = 0; every && i < s->records; i++) {
        make_key(s, i, &key);
        make_value(s, round, i, &value);
        if (i % every == 0 && round == 1)
            leveldb_writebatch_delete(batch, key.bytes, key.size);
        else if (i % every == 0)
            leveldb_writebatch_put(batch, key.bytes, key.size, value.bytes, value.size);
        if (i % s->per_batch == s->per_batch - 1 || i == s->records - 1)
            flush_batch(db, batch);
    }
    leveldb_writebatch_destroy(batch);
}

void write_shape(const struct shape *s)
{
    leveldb_t *db;

    shell("rm -rf %s%s", in_folder(s->name), "");
    db = open_db(s, in_folder(s->name));
    write_round(s, db, 0, 1);
    write_round(s, db, 1, s->deleted_every);
    write_round(s, db, 2, s->rewritten_every);
    leveldb_close(db);
    if (s->reopened) /* which makes a table of the log */
        leveldb_close(open_db(s, in_folder(s->name)));
}

int each_file(const char *path, const char *suffix, void (*fn)(const char *file))
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char file[512];
    int n = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);

        if (length < end || strcmp(entry->d_name + length - end, suffix) != 0)
            continue;
        snprintf(file, sizeof file, "%s/%.200s", path, entry->d_name);
        if (fn)
            fn(file);
        n++;
    }
    closedir(dir);
    return n;
}

#endif
