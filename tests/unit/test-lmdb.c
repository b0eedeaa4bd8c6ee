/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include "net/data/database.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Databases that liblmdb wrote, intact and damaged. FERRY_TEST_LONG: 2,000 mutants instead of 240.
 */

#ifdef FERRY_NET_HAVE_LMDB

#include <lmdb.h>

static char folder[] = "/tmp/ferry-test-lmdb-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][96];
    static int at;

    at = (at + 1) % 4;
    snprintf(paths[at], sizeof paths[at], "%s/%s", folder, name);
    return paths[at];
}

/* ---- databases of liblmdb -------------------------------------------------------------------- */

static const struct shape {
    const char *name;
    int records, key_size, value_size, large_every; /* every n-th record has 30,000 bytes */
    int per_transaction;
    bool scattered;     /* not in the order of their keys */
    int deleted_every; /* every n-th record is deleted afterwards */
} shapes[] = {
    { "one", 1, 8, 20, 0, 1000, false, 0 },         { "small", 30, 8, 100, 0, 1000, false, 0 },
    { "leaves", 3000, 8, 300, 0, 1000, false, 0 },  { "deep", 400, 500, 40, 0, 100, true, 0 },
    { "overflow", 40, 8, 50, 2, 10, false, 0 },     { "deleted", 2000, 12, 200, 50, 100, true, 3 },
    { "levels", 20000, 200, 30, 0, 5000, true, 7 },
};

static void check(int code)
{
    if (code)
        printf("     liblmdb: %s\n", mdb_strerror(code));
    CU_ASSERT_EQUAL_FATAL(code, 0);
}

static uint32_t mix(uint32_t n)
{
    n = (n ^ (n >> 16)) * UINT32_C(0x45d9f3b);
    n = (n ^ (n >> 16)) * UINT32_C(0x45d9f3b);
    return n ^ (n >> 16);
}

/* Record i of a shape, in `key` and `value`, which are large enough. */
static void make_record(const struct shape *s, int i, MDB_val *key, MDB_val *value)
{
    int named = s->scattered ? (int)((uint64_t)i * 7919 % (uint64_t)s->records) : i;

    key->mv_size = (size_t)s->key_size;
    memset(key->mv_data, 'k', key->mv_size);
    snprintf(key->mv_data, 9, "%08d", named);
    if (s->key_size > 8)
        ((char *)key->mv_data)[8] = '_';
    value->mv_size = (size_t)s->value_size + mix((uint32_t)i) % 7;
    if (s->large_every && i % s->large_every == 0)
        value->mv_size = 30000;
    for (size_t k = 0; k < value->mv_size; k++)
        ((unsigned char *)value->mv_data)[k] = (unsigned char)mix((uint32_t)(i * 31) + (uint32_t)k);
}

static MDB_env *open_env(const char *name, unsigned flags)
{
    MDB_env *env;

    check(mdb_env_create(&env));
    check(mdb_env_set_mapsize(env, (size_t)1 << 28));
    check(mdb_env_open(env, in_folder(name), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK | flags, 0644));
    return env;
}

static void write_shape(const struct shape *s)
{
    static char key_room[512], value_room[40000];
    MDB_val key = { 0, key_room }, value = { 0, value_room };
    MDB_env *env = open_env(s->name, 0);
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;

    for (int round = 0; round < (s->deleted_every ? 2 : 1); round++)
        for (int i = 0; i < s->records; i++) {
            if (i % s->per_transaction == 0) {
                check(mdb_txn_begin(env, NULL, 0, &txn));
                check(mdb_dbi_open(txn, NULL, 0, &dbi));
            }
            make_record(s, i, &key, &value);
            if (!round)
                check(mdb_put(txn, dbi, &key, &value, 0));
            else if (i % s->deleted_every == 0)
                check(mdb_del(txn, dbi, &key, NULL));
            if (i % s->per_transaction == s->per_transaction - 1 || i == s->records - 1)
                check(mdb_txn_commit(txn));
        }
    mdb_env_close(env);
}

/* ---- whole databases ------------------------------------------------------------------------- */

/* ferry's current record equals liblmdb's; otherwise the case ends. */
static void same(const struct ferry__database *db, const MDB_val *key, const MDB_val *value)
{
    const void *got;
    size_t size, n = strlen(in_folder("")), all;
    char name[1024], *at;

    ferry__database_record(db, &got, &size);
    CU_ASSERT_EQUAL_FATAL(size, value->mv_size);
    CU_ASSERT_EQUAL_FATAL(memcmp(got, value->mv_data, size), 0);
    ferry__database_name(db, name, sizeof name);
    CU_ASSERT_EQUAL(strncmp(name, in_folder(""), n), 0);
    at = strstr(name, ": record ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    all = strlen(at + 9);
    CU_ASSERT_EQUAL_FATAL(all, key->mv_size);
    CU_ASSERT_EQUAL_FATAL(memcmp(at + 9, key->mv_data, all), 0);
}

/* Twice through all of it, and to random positions. Returns the depth of the tree. */
static unsigned compare(const char *name)
{
    MDB_env *env = open_env(name, MDB_RDONLY);
    MDB_val key, value;
    MDB_cursor *cursor;
    MDB_stat stats;
    MDB_txn *txn;
    MDB_dbi dbi;
    struct ferry__database *db = NULL;

    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    check(mdb_dbi_open(txn, NULL, 0, &dbi));
    check(mdb_stat(txn, dbi, &stats));
    check(mdb_cursor_open(txn, dbi, &cursor));
    FX_OK_FATAL(ferry__database_open(in_folder(name), &db));
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < stats.ms_entries; i++) {
            check(mdb_cursor_get(cursor, &key, &value, i ? MDB_NEXT : MDB_FIRST));
            same(db, &key, &value);
            FX_OK_FATAL(ferry__database_step(db));
        }
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t to = mix(k + 1) % (uint32_t)stats.ms_entries;

        FX_OK_FATAL(ferry__database_seek(db, to + k * stats.ms_entries));
        for (uint32_t i = 0; i <= to; i++)
            check(mdb_cursor_get(cursor, &key, &value, i ? MDB_NEXT : MDB_FIRST));
        same(db, &key, &value);
    }
    ferry__database_close(db);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return stats.ms_depth;
}

static void records_match_liblmdb(void)
{
    unsigned deepest = 0;

    for (size_t i = 0; i < FERRY_TEST_COUNT(shapes); i++) {
        unsigned depth;

        write_shape(&shapes[i]);
        depth = compare(shapes[i].name);
        deepest = depth > deepest ? depth : deepest;
    }
    CU_ASSERT(deepest > 3);
}

/* ---- files by hand --------------------------------------------------------------------------- */

static void put_le(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, f), size);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* Two metas and a leaf of two records, "a" and "b", in pages of that size. */
static unsigned char *make_file(size_t page, size_t *out_size)
{
    unsigned char *file = calloc(3, page), *leaf;
    size_t at;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (int m = 0; m < 2; m++) {
        unsigned char *meta = file + (size_t)m * page;

        put_le(meta, (uint64_t)m, 8);
        put_le(meta + 10, 8, 2);
        put_le(meta + 16, 0xBEEFC0DE, 4);
        put_le(meta + 20, 1, 4);
        put_le(meta + 40, page, 4);
        put_le(meta + 80, UINT64_MAX, 8);  /* no free pages */
        put_le(meta + 94, (uint64_t)m, 2); /* depth */
        put_le(meta + 120, m ? 2 : 0, 8);
        put_le(meta + 128, m ? 2 : UINT64_MAX, 8);
        put_le(meta + 136, m ? 2 : 1, 8);
        put_le(meta + 144, (uint64_t)m, 8);
    }
    leaf = file + 2 * page;
    put_le(leaf, 2, 8);
    put_le(leaf + 10, 2, 2);
    put_le(leaf + 12, 20, 2);
    at = page;
    for (int i = 0; i < 2; i++) {
        at -= 14;
        put_le(leaf + 16 + 2 * i, at, 2);
        put_le(leaf + at, 5, 4);
        put_le(leaf + at + 6, 1, 2);
        leaf[at + 8] = (unsigned char)('a' + i);
        memcpy(leaf + at + 9, i ? "later" : "early", 5);
    }
    put_le(leaf + 14, at, 2);
    *out_size = 3 * page;
    return file;
}

static void databases_of_other_page_sizes_are_read(void)
{
    for (size_t page = 256; page <= 32768; page *= 2) {
        struct ferry__database *db = NULL;
        const void *value;
        size_t size;
        unsigned char *file = make_file(page, &size);

        write_bytes("sized", file, size);
        free(file);
        FX_OK_FATAL(ferry__database_open(in_folder("sized"), &db));
        ferry__database_record(db, &value, &size);
        CU_ASSERT(size == 5 && !memcmp(value, "early", 5));
        FX_OK_FATAL(ferry__database_step(db));
        ferry__database_record(db, &value, &size);
        CU_ASSERT(size == 5 && !memcmp(value, "later", 5));
        ferry__database_close(db);
    }
}

/* Changes one field of the file by hand, and checks the result. */
static void a_damaged_field_is_named(void)
{
    static const struct {
        size_t at;
        uint64_t value;
        int bytes, code;
        const char *word;
    } fields[] = {
        { 16, 0, 4, FERRY_EFORMAT, "not an LMDB" },
        { 20, 2, 4, FERRY_EUNSUPPORTED, "data version 2" },
        { 12, 0xBEEFC0DE, 8, FERRY_EUNSUPPORTED, "32-bit" },
        { 40, 4095, 4, FERRY_EFORMAT, "page size is invalid" },
        { 40, 0, 4, FERRY_EFORMAT, "page size is invalid" },
        { 512 + 92, 4, 2, FERRY_EUNSUPPORTED, "duplicates" },
        { 512 + 94, 0, 2, FERRY_EFORMAT, "depth" },
        { 512 + 94, 33, 2, FERRY_EFORMAT, "depth" },
        { 512 + 94, 2, 2, FERRY_EFORMAT, "not a branch" },
        { 512 + 120, 0, 8, FERRY_EFORMAT, "no records" },
        { 512 + 128, UINT64_MAX, 8, FERRY_EFORMAT, "no records" },
        { 512 + 128, 3, 8, FERRY_EFORMAT, "page 3 does not exist" },
        { 512 + 128, 1, 8, FERRY_EFORMAT, "page 1 does not exist" },
        { 512 + 136, 3, 8, FERRY_EFORMAT, "truncated" },
        { 512 + 136, UINT64_MAX, 8, FERRY_EFORMAT, "last" },
        { 1024, 7, 8, FERRY_EFORMAT, "of another page" },
        { 1024 + 10, 1, 2, FERRY_EFORMAT, "not a leaf" },
        { 1024 + 10, 34, 2, FERRY_EFORMAT, "not a leaf" },
        { 1024 + 12, 21, 2, FERRY_EFORMAT, "used space" },
        { 1024 + 12, 16, 2, FERRY_EFORMAT, "used space" },
        { 1024 + 14, 513, 2, FERRY_EFORMAT, "used space" },
        { 1024 + 16, 505, 2, FERRY_EFORMAT, "node" },
        { 1024 + 16, 18, 2, FERRY_EFORMAT, "node" },
        { 1024 + 498, 0x7fffffff, 4, FERRY_EFORMAT, "a value ends" },
        { 1024 + 502, 2, 2, FERRY_EUNSUPPORTED, "database" },
        { 1024 + 502, 1, 2, FERRY_EFORMAT, "a value ends" },
        { 1024 + 504, 0xffff, 2, FERRY_EFORMAT, "a key ends" },
        { 1024 + 504, 0, 2, FERRY_EFORMAT, "empty" },
        { 1024 + 506, 'b', 1, FERRY_EFORMAT, "ascending" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(fields); i++) {
        struct ferry__database *db = NULL;
        size_t size;
        unsigned char *file = make_file(512, &size);
        int err;

        put_le(file + fields[i].at, fields[i].value, fields[i].bytes);
        write_bytes("field", file, size);
        free(file);
        err = ferry__database_open(in_folder("field"), &db);
        if (!err)
            err = ferry__database_step(db);
        CU_ASSERT_EQUAL(err, fields[i].code);
        if (err != fields[i].code || !strstr(ferry_last_error(), fields[i].word)) {
            printf("     field %zu: %d: %s\n", i, err, ferry_last_error());
            CU_FAIL("the message does not name it");
        }
        ferry__database_close(db);
    }
}

static void a_file_that_shrinks_is_an_error(void)
{
    struct ferry__database *db = NULL;
    int err = 0;

    write_shape(&shapes[2]);
    FX_OK_FATAL(ferry__database_open(in_folder(shapes[2].name), &db));
    CU_ASSERT_EQUAL(truncate(in_folder(shapes[2].name), 8192), 0);
    for (int i = 0; !err && i < shapes[2].records; i++)
        err = ferry__database_step(db);
    CU_ASSERT_EQUAL(err, FERRY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "truncated"));
    ferry__database_close(db);
}

static void opening_a_pipe_does_not_block(void)
{
    struct ferry__database *db = NULL;

    CU_ASSERT_EQUAL_FATAL(mkfifo(in_folder("pipe"), 0600), 0);
    FX_FAILS(FERRY_EIO, ferry__database_open(in_folder("pipe"), &db));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "not a regular file"));
    FX_FAILS(FERRY_EIO, ferry__database_open("/dev/zero", &db));
}

/* ---- mutants --------------------------------------------------------------------------------- */

static uint32_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state += UINT32_C(0x9e3779b9);
    return below ? mix(chance_state) % below : 0;
}

struct bytes {
    unsigned char *at;
    size_t size;
};

static struct bytes slurp(const char *name)
{
    struct bytes b = { NULL, 0 };
    FILE *f = fopen(in_folder(name), "rb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    b.size = (size_t)ftell(f);
    rewind(f);
    b.at = malloc(b.size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b.at);
    CU_ASSERT_EQUAL(fread(b.at, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

/* Changes a number in the header of a page or a node, or in a meta. */
static void change_field(struct bytes b, size_t page, size_t pages)
{
    static const uint64_t odd[] = { 0,      1,      2,      3,          16,        0x7fff,
                                    0xffff, 0xfff0, 0x8000, 0xffffffff, UINT64_MAX };
    static const int widths[] = { 1, 2, 4, 8 };
    size_t in = chance(3) ? 2 * chance(16) : 2 * chance(76);
    unsigned char *p = b.at + chance(chance(3) ? (uint32_t)pages : 2) * page;
    uint64_t value = chance(2) ? odd[chance(11)] : chance((uint32_t)pages + 2);

    if (!chance(3)) { /* of a valid node */
        size_t node = (size_t)p[16 + 2 * chance(4)] | (size_t)p[17] << 8;

        in = node <= page - 16 ? node + 2 * chance(4) : in;
    }
    put_le(p + in, value, widths[chance(4)]);
}

/* Damages the file in one of several ways; returns its size. */
static size_t mutate(struct bytes b, size_t page)
{
    size_t pages = b.size / page, from = chance((uint32_t)pages), to = chance((uint32_t)pages);

    switch (chance(6)) {
    case 0:
        for (uint32_t n = chance(8) + 1; n > 0; n--)
            b.at[chance((uint32_t)b.size)] = (unsigned char)chance(256);
        return b.size;
    case 1:
        return chance((uint32_t)b.size);
    case 2:
        for (size_t i = 0; i < page; i++) {
            unsigned char kept = b.at[from * page + i];

            b.at[from * page + i] = b.at[to * page + i];
            b.at[to * page + i] = kept;
        }
        return b.size;
    case 3: /* one page in place of another, with the expected page number */
        memmove(b.at + to * page, b.at + from * page, page);
        put_le(b.at + to * page, to, 8);
        return b.size;
    default:
        for (uint32_t n = chance(3) + 1; n > 0; n--)
            change_field(b, page, pages);
        return b.size;
    }
}

/* The result of a mutant: 0 all of it was read, 1 opening failed, 2 a step failed. */
static int read_mutant(const char *path, size_t file_size, int records)
{
    struct ferry__database *db = NULL;
    int err = ferry__database_open(path, &db), steps = 0;
    const void *value;
    size_t size;

    if (err) {
        CU_ASSERT(err == FERRY_EFORMAT || err == FERRY_EUNSUPPORTED);
        return 1;
    }
    while (!err && steps++ < 3 * records + 3) {
        volatile unsigned char sum = 0;

        ferry__database_record(db, &value, &size);
        CU_ASSERT_FATAL(size <= file_size);
        for (size_t i = 0; i < size; i += 61) /* it exists */
            sum = (unsigned char)(sum + ((const unsigned char *)value)[i]);
        err = ferry__database_step(db);
    }
    CU_ASSERT(!err || err == FERRY_EFORMAT || err == FERRY_EUNSUPPORTED);
    if (ferry__database_seek(db, UINT64_MAX) == 0) {
        ferry__database_record(db, &value, &size);
        CU_ASSERT(size <= file_size);
    }
    ferry__database_close(db);
    return err ? 2 : 0;
}

static void damage_gives_an_error_and_no_crash(void)
{
    static const size_t mutated[] = { 1, 2, 3, 4, 5 };
    const char *seed = getenv("FERRY_TEST_SEED");
    int n = getenv("FERRY_TEST_LONG") ? 2000 : 240, ends[3] = { 0 };

    chance_state = seed ? (uint32_t)strtoul(seed, NULL, 0) : 1;
    for (size_t i = 0; i < FERRY_TEST_COUNT(mutated); i++) {
        const struct shape *s = &shapes[mutated[i]];
        struct bytes whole, copy;

        unlink(in_folder(s->name));
        write_shape(s);
        whole = slurp(s->name);
        copy.size = whole.size;
        copy.at = malloc(whole.size + 16);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy.at);
        for (int k = 0; k < n / (int)FERRY_TEST_COUNT(mutated); k++) {
            size_t size;

            memcpy(copy.at, whole.at, whole.size);
            size = mutate(copy, 4096);
            write_bytes("mutant", copy.at, size);
            ends[read_mutant(in_folder("mutant"), size, s->records)]++;
        }
        free(copy.at);
        free(whole.at);
    }
    printf("     of %d mutants %d were read, %d refused at once, %d later\n", n, ends[0], ends[1],
           ends[2]);
    CU_ASSERT(ends[0] > 0 && ends[1] > 0 && ends[2] > 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(records_match_liblmdb), FERRY_TEST(databases_of_other_page_sizes_are_read),
    FERRY_TEST(a_damaged_field_is_named),     FERRY_TEST(a_file_that_shrinks_is_an_error),
    FERRY_TEST(opening_a_pipe_does_not_block),     FERRY_TEST(damage_gives_an_error_and_no_crash),
};

int main(int argc, char **argv)
{
    char line[128];
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main(argc, argv, "lmdb", cases, FERRY_TEST_COUNT(cases));
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line) ? 1 : status;
}

#else

int main(void)
{
    puts("skipped: without liblmdb there is nothing to write");
    return 77;
}

#endif
