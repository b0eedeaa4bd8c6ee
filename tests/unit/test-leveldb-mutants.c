/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "leveldb-build.h"

#include "net/data/database.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Random damage, without a wrong checksum, of databases that libleveldb wrote. FERRY_TEST_LONG:
 * 2,800 mutants instead of 280, or of 140 in the shortest run.
 */

#ifdef FERRY_NET_HAVE_LEVELDB

#include "leveldb-shapes.h"

static uint32_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state += UINT32_C(0x9e3779b9);
    return below ? mix(chance_state) % below : 0;
}

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
        put_checksum(b.at + at, b.at + at + 6, 1, b.at + at + 7, size);
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
        put_checksum(b.at + blocks[i][0] + blocks[i][1] + 1, b.at + blocks[i][0], blocks[i][1] + 1,
                     NULL, 0);
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
    } mutated[] = { { LOG, ".log" },   { LOG, NULL },   { TABLE, ".ldb" }, { PLAIN, ".ldb" },
                    { PLAIN, ".log" }, { PLAIN, NULL }, { SNAPPY, ".ldb" } };
    const char *seed = getenv("FERRY_TEST_SEED");
    int n = getenv("FERRY_TEST_LONG") ? 2800 : ferry_test_is_shortest() ? 140 : 280;
    int ends[3] = { 0 };

    chance_state = seed ? (uint32_t)strtoul(seed, NULL, 0) : 1;
    for (size_t i = 0; i < FERRY_TEST_COUNT(mutated); i++) {
        const struct shape *s = &shapes[mutated[i].shape];

        if (!i || mutated[i - 1].shape != mutated[i].shape)
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
    FERRY_TEST(damage_gives_an_error_and_no_crash),
};

int main(int argc, char **argv)
{
    return run_with_shapes(argc, argv, "leveldb-mutants", cases, FERRY_TEST_COUNT(cases));
}

#else

int main(void)
{
    puts("skipped: without libleveldb there is nothing to write");
    return 77;
}

#endif
