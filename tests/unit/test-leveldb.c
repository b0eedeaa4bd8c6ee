/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"

#include "net/data/database.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Databases that libleveldb wrote, intact and damaged. FERRY_TEST_LONG: 2,800 mutants instead of
 * 280.
 */

#ifdef FERRY_NET_HAVE_LEVELDB

#include <leveldb/c.h>

static char folder[] = "/tmp/ferry-test-leveldb-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static int at;

    at = (at + 1) % 4;
    snprintf(paths[at], sizeof paths[at], "%s/%s", folder, name);
    return paths[at];
}

static void shell(const char *format, const char *a, const char *b)
{
    char line[512];

    snprintf(line, sizeof line, format, a, b);
    CU_ASSERT_EQUAL_FATAL(system(line), 0);
}

/* ---- databases of libleveldb ----------------------------------------------------------------- */

static const struct shape {
    const char *name;
    int records, key_size, value_size, large_every; /* every n-th record has 100,000 bytes */
    int per_batch;
    bool scattered;      /* not in the order of their keys */
    int deleted_every;   /* every n-th record is deleted afterwards */
    int rewritten_every; /* every n-th record gets another value afterwards */
    size_t buffer;       /* maximum bytes of a log before it becomes a table */
    bool compressed, reopened;
} shapes[] = {
    { "one", 1, 8, 20, 0, 1, false, 0, 0, 1 << 26, false, false },
    { "log", 300, 8, 100, 40, 10, false, 7, 5, 1 << 26, false, false },
    { "table", 300, 8, 100, 40, 10, false, 7, 5, 1 << 26, false, true },
    { "plain", 4000, 20, 200, 100, 50, true, 7, 5, 1 << 16, false, false },
    { "snappy", 4000, 20, 200, 100, 50, true, 7, 5, 1 << 16, true, false },
    { "levels", 20000, 60, 200, 0, 1000, true, 0, 9, 1 << 16, true, true },
};

static void check(char *error)
{
    if (error)
        printf("     libleveldb: %s\n", error);
    CU_ASSERT_PTR_NULL_FATAL(error);
}

static uint32_t mix(uint32_t n)
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

static leveldb_t *open_db(const struct shape *s, const char *path)
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

static void write_shape(const struct shape *s)
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
    for (size_t i = 0; i < FERRY_TEST_COUNT(shapes); i++) {
        write_shape(&shapes[i]);
        compare(&shapes[i]);
    }
}

/* Applies `act` to each file of a database whose name ends that way; returns their number. */
static int each_file(const char *path, const char *suffix, void (*fn)(const char *file))
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

static void call_sst(const char *file)
{
    char other[512];

    snprintf(other, sizeof other, "%.*s.sst", (int)strlen(file) - 4, file);
    CU_ASSERT_EQUAL(rename(file, other), 0);
}

static void tables_of_older_versions_are_read(void)
{
    struct ferry__database *db = NULL;

    write_shape(&shapes[2]);
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

        write_shape(&shapes[strcmp(rows[i].shape, "log") ? 2 : 1]);
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

    write_shape(&shapes[1]);
    CU_ASSERT_EQUAL(each_file(in_folder("log"), ".log", cut_in_half), 1);
    compare(&shapes[1]);
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
    for (size_t i = 1; i < 5; i++) {
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

/* ---- mutants: damage without a wrong checksum ----------------------------------------------- */

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

static struct bytes slurp(const char *path)
{
    struct bytes b = { NULL, 0 };
    FILE *f = fopen(path, "rb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    b.size = (size_t)ftell(f);
    rewind(f);
    b.at = malloc(b.size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b.at);
    CU_ASSERT_EQUAL(fread(b.at, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, f), size);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* The CRC-32C of each byte, without inversions. */
static uint32_t remainders[256];

static void make_remainders(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78) : crc >> 1;
        remainders[i] = crc;
    }
}

static uint32_t crc_after(uint32_t crc, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        crc = crc >> 8 ^ remainders[(crc ^ bytes[i]) & 255];
    return crc;
}

static uint32_t checksum(const unsigned char *first, size_t n, const unsigned char *second,
                         size_t m)
{
    uint32_t crc;

    if (!remainders[1])
        make_remainders();
    crc = ~crc_after(crc_after(UINT32_MAX, first, n), second, m);
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

static void put_checksum(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

/* Recomputes the checksums of a log or a manifest, part by part. */
static void mend_log(struct bytes b)
{
    size_t at = 0;

    while (at + 7 <= b.size) {
        size_t size = (size_t)b.at[at + 4] | (size_t)b.at[at + 5] << 8, left = 32768 - at % 32768;

        if (left < 7) {
            at += left;
            continue;
        }
        if (at + 7 + size > b.size)
            return;
        put_checksum(b.at + at, checksum(b.at + at + 6, 1, b.at + at + 7, size));
        at += 7 + size;
    }
}

static uint64_t varint(const unsigned char **p)
{
    uint64_t value = 0;

    for (int shift = 0;; shift += 7) {
        value |= (uint64_t)(**p & 127) << shift;
        if (*(*p)++ < 128)
            return value;
    }
}

/* The offsets of the blocks of an intact table; the index, which has the other offsets, is last. */
static int find_blocks(struct bytes b, size_t blocks[][2], int most)
{
    const unsigned char *p = b.at + b.size - 48, *end;
    size_t at, size;
    int n = 0;

    varint(&p);
    varint(&p);
    at = (size_t)varint(&p);
    size = (size_t)varint(&p);
    p = b.at + at;
    end = p + size - 4;
    end -= 4 * (end[0] | end[1] << 8);
    while (b.at[at + size] == 0 && p < end && n < most - 1) {
        uint64_t fresh, length;

        varint(&p);
        fresh = varint(&p);
        length = varint(&p);
        p += fresh;
        {
            const unsigned char *handle = p;

            blocks[n][0] = (size_t)varint(&handle);
            blocks[n++][1] = (size_t)varint(&handle);
        }
        p += length;
    }
    blocks[n][0] = at;
    blocks[n++][1] = size;
    return n;
}

static void mend_table(struct bytes b, size_t blocks[][2], int n)
{
    for (int i = 0; i < n; i++)
        put_checksum(b.at + blocks[i][0] + blocks[i][1] + 1,
                     checksum(b.at + blocks[i][0], blocks[i][1] + 1, NULL, 0));
}

/* A few bytes near one another, of those from `from` to `to`. */
static void change_bytes(struct bytes b, size_t from, size_t to)
{
    static const unsigned char odd[] = { 0, 1, 2, 127, 128, 255 };
    size_t at = from + chance((uint32_t)(to - from));

    for (uint32_t n = chance(4) + 1; n > 0; n--) {
        size_t i = at + chance(16);

        if (i < to)
            b.at[i] = chance(2) ? odd[chance(6)] : (unsigned char)chance(256);
    }
}

/* The result of a mutant: 0 all of it was read, 1 opening failed, 2 a step failed. */
static int read_mutant(int records)
{
    struct ferry__database *db = NULL;
    int err = ferry__database_open(in_folder("copy"), &db), steps = 0;
    const void *value;
    size_t size;

    if (err) {
        CU_ASSERT(err == FERRY_EFORMAT || err == FERRY_EUNSUPPORTED);
        return 1;
    }
    while (!err && steps++ < 2 * records) {
        volatile unsigned char sum = 0;

        ferry__database_record(db, &value, &size);
        for (size_t i = 0; i < size; i += 61) /* it exists */
            sum = (unsigned char)(sum + ((const unsigned char *)value)[i]);
        err = ferry__database_step(db);
    }
    CU_ASSERT(!err || err == FERRY_EFORMAT || err == FERRY_EUNSUPPORTED);
    if (ferry__database_seek(db, UINT64_MAX) == 0)
        ferry__database_record(db, &value, &size);
    ferry__database_close(db);
    return err ? 2 : 0;
}

static char found[512];

/* libleveldb leaves the beginning of a table where a database is closed while it is merged. */
static bool is_part_of_a_table(const char *file)
{
    static const unsigned char end[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
    struct bytes b;
    bool whole;

    if (!strstr(file, ".ldb"))
        return false;
    b = slurp(file);
    whole = b.size >= 48 && !memcmp(b.at + b.size - sizeof end, end, sizeof end);
    free(b.at);
    return !whole;
}

static void note_file(const char *file)
{
    if (is_part_of_a_table(file))
        return;
    if (!found[0] || chance(3) == 0)
        snprintf(found, sizeof found, "%s", file);
}

static void mutate_log(struct bytes b)
{
    change_bytes(b, 0, chance(3) ? b.size : (b.size < 200 ? b.size : 200));
    mend_log(b);
}

static void mutate_table(struct bytes b, size_t blocks[][2], int n)
{
    size_t at = (size_t)(chance(3) ? n - 1 : (int)chance((uint32_t)n)); /* mostly the index */
    size_t from = blocks[at][0], size = blocks[at][1] + 1;

    if (!chance(4))
        change_bytes(b, b.size - 48, b.size);
    else if (chance(2))
        change_bytes(b, from, from + (size < 60 ? size : 60));
    else
        change_bytes(b, size > 60 ? from + size - 60 : from, from + size);
    mend_table(b, blocks, n);
}

/* Damages one file of the copy, reads the database, and restores the file. */
static int try_mutant(const struct shape *s, const char *suffix)
{
    static size_t blocks[4096][2];
    bool table = strcmp(suffix, ".ldb") == 0;
    struct bytes whole, mutant;
    int n = 0, end;

    found[0] = 0;
    each_file(in_folder("copy"), suffix, note_file);
    CU_ASSERT_FATAL(found[0] != 0);
    whole = slurp(found);
    if (table)
        n = find_blocks(whole, blocks, 4096);
    mutant = slurp(found);
    if (table)
        mutate_table(mutant, blocks, n);
    else
        mutate_log(mutant);
    if (!chance(12))
        mutant.size = chance((uint32_t)mutant.size);
    write_bytes(found, mutant.at, mutant.size);
    end = read_mutant(s->records);
    write_bytes(found, whole.at, whole.size);
    free(whole.at);
    free(mutant.at);
    return end;
}

/* The name of the manifest ends with digits; CURRENT contains it. */
static const char *manifest(void)
{
    static char name[32];
    struct bytes b = slurp(in_folder("copy/CURRENT"));

    snprintf(name, sizeof name, "%.*s", (int)(b.size - 1), (char *)b.at);
    free(b.at);
    return name;
}

static void damage_gives_an_error_and_no_crash(void)
{
    static const struct {
        int shape;
        const char *suffix; /* NULL: the manifest */
    } mutated[] = { { 1, ".log" }, { 2, ".ldb" }, { 3, ".ldb" }, { 4, ".ldb" },
                    { 3, NULL },   { 3, ".log" }, { 1, NULL } };
    const char *seed = getenv("FERRY_TEST_SEED");
    int n = getenv("FERRY_TEST_LONG") ? 2800 : 280, ends[3] = { 0 };

    chance_state = seed ? (uint32_t)strtoul(seed, NULL, 0) : 1;
    for (size_t i = 0; i < FERRY_TEST_COUNT(mutated); i++) {
        const struct shape *s = &shapes[mutated[i].shape];

        write_shape(s);
        shell("rm -rf %s%s", in_folder("copy"), "");
        shell("cp -r %s %s", in_folder(s->name), in_folder("copy"));
        for (int k = 0; k < n / (int)FERRY_TEST_COUNT(mutated); k++)
            ends[try_mutant(s, mutated[i].suffix ? mutated[i].suffix : manifest())]++;
    }
    printf("     of %d mutants %d were read, %d refused at once, %d later\n", n, ends[0], ends[1],
           ends[2]);
    CU_ASSERT(ends[0] > 0 && ends[1] > 0 && ends[2] > 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(records_match_libleveldb),
    FERRY_TEST(tables_of_older_versions_are_read),
    FERRY_TEST(damage_is_named),
    FERRY_TEST(an_interrupted_write_is_ignored),
    FERRY_TEST(an_allocation_that_fails_is_an_error),
    FERRY_TEST(damage_gives_an_error_and_no_crash),
};

int main(int argc, char **argv)
{
    char line[128];
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main(argc, argv, "leveldb", cases, FERRY_TEST_COUNT(cases));
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line) ? 1 : status;
}

#else

int main(void)
{
    puts("skipped: without libleveldb there is nothing to write");
    return 77;
}

#endif
