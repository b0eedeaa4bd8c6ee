/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"

#include "net/data/database.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Databases that libleveldb wrote, intact and damaged. */

#ifdef FERRY_NET_HAVE_LEVELDB

#include "leveldb-shapes.h"

/* ---- whole databases ------------------------------------------------------------------------- */

/* ferry's current record equals libleveldb's; otherwise the case ends. */
static void same(const struct ferry__database *db, leveldb_iterator_t *it)
{
    size_t key_size, value_size, size, n = strlen(in_folder(""));
    const char *key = leveldb_iter_key(it, &key_size), *value = leveldb_iter_value(it, &value_size);
    const void *got;
    char name[1024], *at;

    ferry__database_record(db, &got, &size);
    CU_ASSERT_EQUAL_FATAL(size, value_size);
    CU_ASSERT_EQUAL_FATAL(memcmp(got, value, size), 0);
    ferry__database_name(db, name, sizeof name);
    CU_ASSERT_EQUAL(strncmp(name, in_folder(""), n), 0);
    at = strstr(name, ": record ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_EQUAL_FATAL(strlen(at + 9), key_size);
    CU_ASSERT_EQUAL_FATAL(memcmp(at + 9, key, key_size), 0);
}

/* Walks twice through all records. */
static int walk(struct ferry__database *db, leveldb_iterator_t *it)
{
    int records = 0;

    for (int round = 0; round < 2; round++) {
        leveldb_iter_seek_to_first(it);
        for (records = 0; leveldb_iter_valid(it); records++) {
            same(db, it);
            leveldb_iter_next(it);
            FX_OK_FATAL(ferry__database_step(db));
        }
    }
    return records;
}

/* ferry reads a copy, because libleveldb changes the files that it opens. */
static void compare(const struct shape *s)
{
    leveldb_readoptions_t *how = leveldb_readoptions_create();
    struct ferry__database *db = NULL;
    leveldb_iterator_t *it;
    leveldb_t *theirs;
    int records;

    shell("rm -rf %s%s", in_folder("copy"), "");
    shell("cp -r %s %s", in_folder(s->name), in_folder("copy"));
    theirs = open_db(s, in_folder(s->name));
    it = leveldb_create_iterator(theirs, how);
    FX_OK_FATAL(ferry__database_open(in_folder("copy"), &db));
    records = walk(db, it);
    CU_ASSERT(records > 0);
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t to = mix(k + 1) % (uint32_t)records;

        FX_OK_FATAL(ferry__database_seek(db, to + (uint64_t)k * (uint64_t)records));
        leveldb_iter_seek_to_first(it);
        while (to--)
            leveldb_iter_next(it);
        same(db, it);
    }
    ferry__database_close(db);
    leveldb_iter_destroy(it);
    leveldb_close(theirs);
    leveldb_readoptions_destroy(how);
}

static void records_match_libleveldb(void)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        write_shape(&shapes[i]);
        compare(&shapes[i]);
    }
}

static void call_sst(const char *file)
{
    char other[512];

    snprintf(other, sizeof other, "%.*s.sst", (int)strlen(file) - 4, file);
    CU_ASSERT_EQUAL(rename(file, other), 0);
}

static void tables_of_older_versions_are_read(void)
{
    struct ferry__database *db = NULL;

    write_shape(&shapes[TABLE]);
    CU_ASSERT(each_file(in_folder("table"), ".ldb", call_sst) > 0);
    FX_OK_FATAL(ferry__database_open(in_folder("table"), &db));
    ferry__database_close(db);
}

/* Steps through at most that many records; returns the error that ends it. */
static int read_all(const char *path, int records)
{
    struct ferry__database *db = NULL;
    int err = ferry__database_open(path, &db);

    while (!err && records-- > 0)
        err = ferry__database_step(db);
    ferry__database_close(db);
    return err;
}

/* ---- damage that has a name ------------------------------------------------------------------ */

static void cut_in_half(const char *file)
{
    struct stat about;

    CU_ASSERT_EQUAL_FATAL(stat(file, &about), 0);
    CU_ASSERT_EQUAL(truncate(file, about.st_size / 2), 0);
}

static void remove_file(const char *file)
{
    CU_ASSERT_EQUAL(unlink(file), 0);
}

static void turn_a_bit(const char *file)
{
    FILE *f = fopen(file, "r+b");
    int c;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 50, SEEK_SET);
    c = getc(f);
    fseek(f, 50, SEEK_SET);
    putc(c ^ 1, f);
    fclose(f);
}

static void name_nothing(const char *file)
{
    FILE *f = fopen(file, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("MANIFEST-999999\n", f);
    fclose(f);
}

static void name_no_manifest(const char *file)
{
    FILE *f = fopen(file, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("../other\n", f);
    fclose(f);
}

static void put_a_pipe(const char *file)
{
    remove_file(file);
    CU_ASSERT_EQUAL(mkfifo(file, 0600), 0);
}

static void damage_is_named(void)
{
    static const struct {
        const char *shape, *suffix;
        void (*damage)(const char *file);
        int code;
        const char *word;
    } rows[] = {
        { "table", ".ldb", remove_file, FERRY_EFORMAT, "is missing" },
        { "table", ".ldb", cut_in_half, FERRY_EFORMAT, "it does not end like a table" },
        { "table", ".ldb", turn_a_bit, FERRY_EFORMAT, "checksum" },
        { "table", ".ldb", put_a_pipe, FERRY_EIO, "not a regular file" },
        { "log", ".log", turn_a_bit, FERRY_EFORMAT, "checksum" },
        { "log", ".log", put_a_pipe, FERRY_EIO, "not a regular file" },
        { "log", ".log", remove_file, FERRY_EFORMAT, "no records" },
        { "log", "CURRENT", name_nothing, FERRY_EIO, "MANIFEST-999999" },
        { "log", "CURRENT", name_no_manifest, FERRY_EFORMAT, "does not name a manifest" },
        { "log", "CURRENT", put_a_pipe, FERRY_EIO, "not a regular file" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++) {
        int err;

        write_shape(&shapes[strcmp(rows[i].shape, "log") ? TABLE : LOG]);
        CU_ASSERT(each_file(in_folder(rows[i].shape), rows[i].suffix, rows[i].damage) > 0);
        err = read_all(in_folder(rows[i].shape), 1000);
        CU_ASSERT_EQUAL(err, rows[i].code);
        if (err != rows[i].code || !strstr(ferry_last_error(), rows[i].word)) {
            printf("     row %zu: %d: %s\n", i, err, ferry_last_error());
            CU_FAIL("the message does not name it");
        }
    }
}

/* LevelDB ignores the interrupted write too. */
static void an_interrupted_write_is_ignored(void)
{
    struct ferry__database *db = NULL;
    char name[1024], last[1024] = "";

    write_shape(&shapes[LOG]);
    CU_ASSERT_EQUAL(each_file(in_folder("log"), ".log", cut_in_half), 1);
    compare(&shapes[LOG]);
    FX_OK_FATAL(ferry__database_open(in_folder("copy"), &db));
    for (;;) {
        ferry__database_name(db, name, sizeof name);
        if (strcmp(name, last) < 0)
            break;
        strcpy(last, name);
        FX_OK_FATAL(ferry__database_step(db));
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(last, "record 0000"));
    CU_ASSERT(strcmp(strstr(last, "record ") + 7, "00000299") < 0);
    ferry__database_close(db);
}

static void an_allocation_that_fails_is_an_error(void)
{
    for (size_t i = LOG; i < LEVELS; i++) {
        struct ferry__database *db = NULL;
        unsigned n = 0;
        int err;

        write_shape(&shapes[i]);
        do {
            oom_arm(++n);
            err = ferry__database_open(in_folder(shapes[i].name), &db);
            for (int k = 0; !err && k < 400; k++)
                err = ferry__database_step(db);
            CU_ASSERT(oom_disarm() == (err == FERRY_ENOMEM));
            ferry__database_close(db);
            db = NULL;
        } while (err == FERRY_ENOMEM && n < 1000);
        FX_OK_FATAL(err);
        CU_ASSERT(n > 5);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(records_match_libleveldb),
    FERRY_TEST(tables_of_older_versions_are_read),
    FERRY_TEST(damage_is_named),
    FERRY_TEST(an_interrupted_write_is_ignored),
    FERRY_TEST(an_allocation_that_fails_is_an_error),
};

int main(int argc, char **argv)
{
    return run_with_shapes(argc, argv, "leveldb", cases, FERRY_TEST_COUNT(cases));
}

#else

int main(void)
{
    puts("skipped: without libleveldb there is nothing to write");
    return 77;
}

#endif
