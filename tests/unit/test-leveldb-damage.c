/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "leveldb-build.h"

#include "net/data/leveldb/leveldb.h"
#include "net/data/leveldb/snappy.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * LevelDB databases made byte by byte, without libleveldb, with right checksums: each check of the
 * reader has a database that only this check refuses, so that its loss is found without a
 * sanitizer.
 */

static char folder[] = "/tmp/ferry-test-leveldb-damage-XXXXXX";

enum { BLOCK = 32768, WHOLE = 1, FIRST, MIDDLE, LAST };

#define COMPARATOR "\1\x1aleveldb.BytewiseComparator"
/* The manifest's fields: the first log is 4. */
#define FIELDS COMPARATOR "\2\4\3\7\4\x9"
/* Its field of table 5 of level 0, with the keys "a" and "b". */
#define TABLE "\7\0\5\x64\x9\x61\1\1\0\0\0\0\0\0\x9\x62\1\2\0\0\0\0\0\0"
/* A batch: the number of its first write, 1 or 3, and the count of its writes. */
#define BATCH1 "\1\0\0\0\0\0\0\0\1\0\0\0"
#define BATCH2 "\3\0\0\0\0\0\0\0\1\0\0\0"
#define A      "\1\1a\1x"
#define B      "\1\1b\1y"

/* ---- files ----------------------------------------------------------------------------------- */

static unsigned char buffer[3 * BLOCK];

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void clear(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            unlink(in_folder(entry->d_name));
    if (dir)
        closedir(dir);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    write_bytes(in_folder(name), bytes, size);
}

/* Appends a part of a record to the log in `buffer`; returns the log's size. */
static size_t put_part(size_t at, int type, const void *bytes, size_t size)
{
    unsigned char *to = buffer + at;

    CU_ASSERT_FATAL(at + 7 + size <= sizeof buffer);
    to[4] = (unsigned char)size;
    to[5] = (unsigned char)(size >> 8);
    to[6] = (unsigned char)type;
    if (size)
        memcpy(to + 7, bytes, size);
    put_checksum(to, to + 6, 1, to + 7, size);
    return at + 7 + size;
}

static void write_log(const char *name, const void *record, size_t size)
{
    write_file(name, buffer, put_part(0, WHOLE, record, size));
}

/* A database without a table, and with an empty log. */
static void begin(void)
{
    clear();
    write_file("CURRENT", BYTES("MANIFEST-000001\n"));
    write_log("MANIFEST-000001", BYTES(FIELDS));
    write_file("000004.log", "", 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Opens the database and makes one step; the result is the first error. */
static int read_two(void)
{
    struct ferry__leveldb *db = NULL;
    int err = ferry__leveldb_open(folder, &db);

    if (!err)
        err = ferry__leveldb_next(db);
    ferry__leveldb_close(db);
    return err;
}

static void check(const char *label, int code, const char *says)
{
    int err = read_two();

    if (err != code || (err && !strstr(ferry_last_error(), says))) {
        CU_FAIL("another result");
        printf("     %s: wanted %d \"%s\", got %d \"%s\"\n", label, code, says, err,
               err ? ferry_last_error() : "");
    }
}

struct damage {
    const char *says; /* "": the database is intact */
    const char *bytes;
    size_t size;
};

#define D(says, text)                \
    {                                \
        says, text, sizeof(text) - 1 \
    }

static void check_row(size_t i, const struct damage *row)
{
    char label[32];

    snprintf(label, sizeof label, "row %zu", i);
    check(label, *row->says ? FERRY_EFORMAT : FERRY_OK, row->says);
}

/* ---- logs ------------------------------------------------------------------------------------ */

static void damaged_batches_are_refused(void)
{
    static const struct damage rows[] = {
        D("", BATCH1 A),
        D("", BATCH1 "\1\1a\0"),
        D("a batch is too short", "\1\0\0\0\0\0\0\0\1\0\0"),
        D("a batch's number is too large", "\1\0\0\0\0\0\0\1\1\0\0\0" A),
        D("a batch has more bytes than writes", BATCH1 A "\0"),
        D("a write of its batch is damaged", BATCH1),
        D("a write of its batch is damaged", BATCH1 "\2\1a\1x"),
        D("a write of its batch is damaged", BATCH1 "\1"),
        D("a write of its batch is damaged", BATCH1 "\1\2a"),
        D("a write of its batch is damaged", BATCH1 "\0\2a"),
        D("a write of its batch is damaged", BATCH1 "\1\1a"),
        D("a write of its batch is damaged", BATCH1 "\1\1a\2x"),
        D("a write of its batch is damaged", BATCH1 "\1\1a\x80"),
        D("a write of its batch is damaged", BATCH1 "\1\1a\x81\x80\x80\x80\x80\x80\x80\x80\x80\2x"),
        D("no records", BATCH1 "\0\1a"),
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++) {
        begin();
        write_log("000004.log", rows[i].bytes, rows[i].size);
        check_row(i, &rows[i]);
    }
}

/* Bytes after the last whole part are an interrupted write, or space that was not used. */
static void the_end_of_a_log_may_be_unused(void)
{
    for (size_t rest = 0; rest < 9; rest++) {
        begin();
        memset(buffer, 0, sizeof buffer);
        write_file("000004.log", buffer, put_part(0, WHOLE, BYTES(BATCH1 A)) + rest);
        check("zeros", FERRY_OK, "");
        put_part(put_part(0, WHOLE, BYTES(BATCH1 A)), WHOLE, BYTES(BATCH2 B));
        write_file("000004.log", buffer, 7 + sizeof(BATCH1 A) - 1 + rest);
        check("a part", FERRY_OK, "");
    }
}

/* A batch of that many bytes, with one write. */
static const unsigned char *long_batch(size_t size)
{
    static unsigned char batch[2 * BLOCK];
    size_t value = size - 12 - 6; /* its length has three bytes */

    CU_ASSERT_FATAL(value >= 1 << 14 && size <= sizeof batch);
    memset(batch, 'v', size);
    memcpy(batch, BATCH1 "\1\1a", 15);
    batch[15] = (unsigned char)(value | 128);
    batch[16] = (unsigned char)(value >> 7 | 128);
    batch[17] = (unsigned char)(value >> 14);
    return batch;
}

static void parts_of_records_are_checked(void)
{
    const unsigned char *batch = long_batch(BLOCK);
    size_t end;

    begin();
    for (size_t rest = 0; rest < 7; rest++) { /* a block ends with too few bytes for a header */
        size_t size = BLOCK - 7 - rest;

        memset(buffer, 0, sizeof buffer);
        put_part(0, WHOLE, long_batch(size), size);
        write_file("000004.log", buffer, put_part(BLOCK, WHOLE, BYTES(BATCH2 B)));
        check("two blocks", FERRY_OK, "");
        write_file("000004.log", buffer, BLOCK - rest);
        check("one block", FERRY_OK, "");
    }
    batch = long_batch(BLOCK);
    end = put_part(0, FIRST, batch, BLOCK - 57);
    write_file("000004.log", buffer, put_part(end, LAST, batch + BLOCK - 57, 57));
    check("a part over two blocks", FERRY_EFORMAT, "a record leaves its block");
    write_file("000004.log", buffer, put_part(0, 5, BYTES(BATCH1 A)));
    check("type 5", FERRY_EFORMAT, "a record has an unknown type");
    write_file("000004.log", buffer, put_part(put_part(0, 0, "x", 1), WHOLE, BYTES(BATCH1 A)));
    check("type 0", FERRY_EFORMAT, "a record has an unknown type");
    write_file("000004.log", buffer, put_part(0, MIDDLE, BYTES(BATCH1 A)));
    check("a middle", FERRY_EFORMAT, "a record lacks its first part");
    write_file("000004.log", buffer, put_part(put_part(0, FIRST, BYTES(BATCH1)), WHOLE, BYTES(A)));
    check("a beginning", FERRY_EFORMAT, "a record begins within another one");
    put_part(0, WHOLE, BYTES(BATCH1 A));
    buffer[0] ^= 1;
    write_file("000004.log", buffer, 7 + sizeof(BATCH1 A) - 1);
    check("a checksum", FERRY_EFORMAT, "a record's checksum is wrong");
}

/* Values are read from the log again when they are needed. */
static void a_log_that_changes_while_it_is_open_is_refused(void)
{
    static const char part[] = "\1\1c\1z", two[] = "\3\0\0\0\0\0\0\0\2\0\0\0" B;
    static const char *const says[] = { "it has changed since it was opened",
                                        "it has changed since it was opened", "it is truncated" };

    for (int change = 0; change < 3; change++) {
        struct ferry__leveldb *db = NULL;
        size_t second, end, all;

        begin();
        second = put_part(0, WHOLE, BYTES(BATCH1 A));
        end = put_part(second, FIRST, two, sizeof two - 1);
        all = put_part(end, LAST, part, sizeof part - 1);
        write_file("000004.log", buffer, all);
        FX_OK_FATAL(ferry__leveldb_open(folder, &db));
        if (change == 0) /* a shorter batch */
            put_part(second, WHOLE, "\3\0\0\0", 4);
        else if (change == 1) /* a last part that the file does not have */
            put_part(end, LAST, BYTES("\1\1c\2zz"));
        write_file("000004.log", buffer, change == 2 ? end : all);
        FX_FAILS(FERRY_EFORMAT, ferry__leveldb_next(db));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), says[change]));
        ferry__leveldb_close(db);
    }
}

static void files_that_are_not_logs_are_ignored(void)
{
    static const char *const names[] = {
        "+000009.log", " 000009.log", "000009.log~", "9", "99999999999999999999999.log",
        "000003.log"
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        begin();
        write_log("000004.log", BYTES(BATCH1 A));
        write_file(names[i], "x", 1);
        check(names[i], FERRY_OK, "");
    }
}

/* ---- manifests ------------------------------------------------------------------------------- */

static void damaged_manifests_are_refused(void)
{
    static const struct damage rows[] = {
        D("", FIELDS),
        D("", FIELDS "\5\1\x1k"),
        D("", FIELDS "\6\1\5"),
        D("a field is truncated", FIELDS "\x80"),
        D("a field is truncated", FIELDS "\x82\x80\x80\x80\x80\x80\x80\x80\x80\2\4"),
        D("a record has an unknown field", FIELDS "\x8\1"),
        D("a number is truncated", FIELDS "\3"),
        D("a compaction's position is truncated", FIELDS "\5\1\2k"),
        D("the name of the keys' order is truncated", "\1\x1bleveldb.BytewiseComparator"),
        D("a table's level or number is wrong", FIELDS "\6\7\5"),
        D("a table's level or number is wrong", FIELDS "\6\1"),
        D("a table's keys are wrong", FIELDS "\7\0\5\x64\7aaaaaaa\7bbbbbbb"),
        D("a table's keys are wrong", FIELDS "\7\0\5\x64\x8"
                                             "aaaaaaaa\x9"
                                             "bbbbbbbb"),
        D("a table's keys are wrong", FIELDS "\7\0\5\x64\x8"
                                             "aaaaaaaa"),
        D("a table's keys are wrong", FIELDS "\7\0\5"),
        D("its table 000005.ldb is missing", FIELDS TABLE),
        D("", FIELDS TABLE "\6\0\5"),
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++) {
        begin();
        write_log("000004.log", BYTES(BATCH1 A));
        write_log("MANIFEST-000001", rows[i].bytes, rows[i].size);
        check_row(i, &rows[i]);
    }
    write_file("MANIFEST-000001", "", 0);
    check("empty", FERRY_EFORMAT, "MANIFEST-000001: byte 0: it has no records");
}

static void an_order_of_other_names_is_unsupported(void)
{
    static const char *const names[] = { "leveldb", "leveldb.BytewiseComparatoR",
                                         "leveldb.BytewiseComparator2" };
    char manifest[256];

    begin();
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        int size = snprintf(manifest, sizeof manifest, "\1%c%s", (int)strlen(names[i]), names[i]);

        write_log("MANIFEST-000001", manifest, (size_t)size);
        check(names[i], FERRY_EUNSUPPORTED, names[i]);
    }
    memset(manifest, 'n', sizeof manifest);
    memcpy(manifest, "\1\x7f", 2);
    write_log("MANIFEST-000001", manifest, 129);
    check("a long name", FERRY_EUNSUPPORTED, "\"nnnn");
    manifest[83] = 0;
    CU_ASSERT_PTR_NULL(strstr(ferry_last_error(), manifest + 2)); /* 81 characters */
}

static void other_contents_of_current_are_refused(void)
{
    static const struct damage rows[] = {
        D("", "MANIFEST-000001\n"),
        D("does not name a manifest", ""),
        D("does not name a manifest", "\n"),
        D("does not name a manifest", "MANIFEST-000001"),
        D("does not name a manifest", "MANIFEST-000001\0\n"),
        D("does not name a manifest", "MANIFEST-/../MANIFEST-000001\n"),
        D("does not name a manifest", "CURRENT\n"),
        D("does not name a manifest", "MANIFEST-00000000000000000000000000000000000001\n"),
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++) {
        begin();
        write_log("000004.log", BYTES(BATCH1 A));
        write_file("CURRENT", rows[i].bytes, rows[i].size);
        check_row(i, &rows[i]);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The differences from an intact table. */
struct table {
    const char *says;
    const char *data; /* NULL: the intact block */
    size_t size;
    int compression;
    const char *handle; /* of the data, in the index; NULL: the right one */
    size_t handle_size;
    const char *footer; /* its first bytes; NULL: the right ones */
    size_t footer_size;
};

#define KEY     "a\1\1\0\0\0\0\0\0"
#define RECORD  "\0\x9\1" KEY "x"
#define RESTART "\0\0\0\0\1\0\0\0"

/* Appends a block with its trailer, and stores its handle. */
static void put_block(struct msg *table, const void *bytes, size_t size, int compression,
                      struct msg *handle)
{
    unsigned char *to = table->at + table->size;

    handle->size = 0;
    put_number(handle, table->size);
    put_number(handle, size);
    put_raw(table, bytes, size);
    put_raw(table, "\0\0\0\0\0", 5);
    to[size] = (unsigned char)compression;
    put_checksum(to + size + 1, to, size + 1, NULL, 0);
}

static void write_table(const struct table *t)
{
    struct msg table = { .size = 0 }, index = { .size = 0 }, handle, footer = { .size = 0 };

    if (t->data)
        put_block(&table, t->data, t->size, t->compression, &handle);
    else
        put_block(&table, BYTES(RECORD RESTART), t->compression, &handle);
    if (t->handle) {
        handle.size = 0;
        put_raw(&handle, t->handle, t->handle_size);
    }
    put_raw(&index, "\0\x9", 2);
    put_number(&index, handle.size);
    put_raw(&index, BYTES("b\1\1\0\0\0\0\0\0"));
    put_raw(&index, handle.at, handle.size);
    put_raw(&index, BYTES(RESTART));
    put_block(&table, index.at, index.size, 0, &handle);
    if (t->footer)
        put_raw(&footer, t->footer, t->footer_size);
    else
        put_raw(&footer, "\0\0", 2);
    put_raw(&footer, handle.at, handle.size);
    memset(footer.at + footer.size, 0, 48 - footer.size);
    memcpy(footer.at + 40, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    put_raw(&table, footer.at, 48);
    write_file("000005.ldb", table.at, table.size);
}

#define T(says, text)                                     \
    {                                                     \
        says, text, sizeof(text) - 1, 0, NULL, 0, NULL, 0 \
    }
#define COMPRESSED(says, type, text)                         \
    {                                                        \
        says, text, sizeof(text) - 1, type, NULL, 0, NULL, 0 \
    }
#define AT(says, handle)                                      \
    {                                                         \
        says, NULL, 0, 0, handle, sizeof(handle) - 1, NULL, 0 \
    }
#define FOOTER(says, bytes)                                 \
    {                                                       \
        says, NULL, 0, 0, NULL, 0, bytes, sizeof(bytes) - 1 \
    }

/* The intact table has 21 bytes of data, a trailer of 5, and an index of 22. */
static const struct table tables[] = {
    T("", RECORD RESTART),
    T("", RECORD "\0\x9\1"
                 "b\1\1\0\0\0\0\0\0y" RESTART),
    T("a record ends outside of its block", "\1\x8\1"
                                            "\1\1\0\0\0\0\0\0x" RESTART),
    T("a record ends outside of its block", "\0\xb\0" KEY RESTART),
    T("a record ends outside of its block", "\0\xa\0" KEY RESTART),
    T("a record ends outside of its block", "\0\x9\2" KEY "x" RESTART),
    T("a record ends outside of its block", "\0\x9\x80\x80" RESTART),
    T("a record ends outside of its block",
      "\0\x9\xff\xff\xff\xff\xff\xff\xff\xff\xff\2" KEY "x" RESTART),
    T("a record ends outside of its block", "\0" RESTART),
    T("its keys are not in ascending order", RECORD "\0\x9\1"
                                                    "`\1\1\0\0\0\0\0\0y" RESTART),
    T("its keys are not in ascending order", RECORD RECORD RESTART),
    T("a key is too short", "\0\7\1"
                            "\1\0\0\0\0\0\0x" RESTART),
    T("a record is of an unknown kind", "\0\x9\1"
                                        "a\2\1\0\0\0\0\0\0x" RESTART),
    T("a block is too short", "\0\0\0"),
    T("a block has too many restarts", RECORD "\0\0\0\0\5\0\0\0"),
    T("a block has too many restarts", RECORD "\0\0\0\0\xff\xff\xff\xff"),
    COMPRESSED("", 1, "\x15\x50" RECORD RESTART),
    COMPRESSED("a block's length is wrong", 1, "\xff\xff\xff\xff\x0f\x50" RECORD RESTART),
    COMPRESSED("a compressed block is damaged", 1, "\x15\x4c" RECORD RESTART),
    COMPRESSED("a compressed block is damaged", 1, "\x15\x50" RECORD "\0\0\0\0\1\0\0"),
    COMPRESSED("a block has an unknown compression", 3, RECORD RESTART),
    AT("", "\0\x15"),
    AT("the location of a block is truncated", "\0"),
    AT("the location of a block is truncated", "\0\x95"),
    AT("the location of a block is truncated", "\0\x95\x80\x80\x80\x80\x80\x80\x80\x80\2"),
    AT("a block is outside of the file", "\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"),
    AT("a block is outside of the file", "\0\x40"),
    AT("a block is outside of the file", "\x80\1\x15"),
    AT("a block is outside of the file", "\x30\1"),
    AT("a block is outside of the file", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1"),
    AT("a block's checksum is wrong", "\0\x14"),
    FOOTER("", "\0\0"),
    FOOTER("the location of a block is truncated", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\2"),
};

static void damaged_tables_are_refused(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(tables); i++) {
        struct damage row = { .says = tables[i].says };

        begin();
        write_log("MANIFEST-000001", BYTES(FIELDS TABLE));
        write_table(&tables[i]);
        check_row(i, &row);
    }
    write_file("000005.ldb", BYTES(RECORD RESTART));
    check("without a footer", FERRY_EFORMAT, "it is too short for a table");
    memset(buffer, 0, 100);
    write_file("000005.ldb", buffer, 100);
    check("without the magic number", FERRY_EFORMAT, "it does not end like a table");
}

static void zstd_is_unsupported(void)
{
    static const struct table zstd = COMPRESSED("", 2, RECORD RESTART);

    begin();
    write_log("MANIFEST-000001", BYTES(FIELDS TABLE));
    write_table(&zstd);
    check("zstd", FERRY_EUNSUPPORTED, "compressed with zstd");
}

/* ---- snappy ---------------------------------------------------------------------------------- */

/* Expands into the middle of an array whose other bytes must not change. */
static bool expands(const char *bytes, size_t size, size_t length)
{
    unsigned char out[256];
    bool good;

    memset(out, 0xa5, sizeof out);
    good = ferry__snappy_expand(bytes, size, out + 64, length);
    for (size_t i = 0; i < sizeof out; i++)
        CU_ASSERT(out[i] == 0xa5 || (i >= 64 && i < 64 + length));
    return good;
}

static void damaged_snappy_is_refused(void)
{
    static const struct damage rows[] = {
        D("", "\5\x10"
              "abcde"),
        D("", "\5\4ab\6\2\0\0c"),   /* two bytes, a copy of two, one byte */
        D("", "\6\4ab\1\2"),        /* a copy of four, which overlaps */
        D("", "\6\4ab\xf\2\0\0\0"), /* the same with a distance of four bytes */
        D("", "\5\xf0\4"
              "abcde"), /* the length in a byte of its own */
        D("longer", "\5\x14"
                    "abcdef"),
        D("longer", "\5\4ab\1\2"),
        D("longer", "\3\4ab\x1e\2\0"),
        D("back 0", "\6\4ab\1\0"),
        D("back too far", "\6\4ab\1\3"),
        D("back too far", "\6\4ab\1\x20"),
        D("shorter", "\5\4ab"),
        D("cut", "\5\x10"
                 "abc"),
        D("cut", "\6\4ab\1"),
        D("cut", "\6\4ab\2\2"),
        D("cut", "\5\xf4\4"),
        D("no length", "\x80"),
    };
    size_t length;

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++) {
        size_t n = (unsigned char)rows[i].bytes[0];
        bool good = expands(rows[i].bytes, rows[i].size, n < 128 ? n : 5);

        if (good != !*rows[i].says)
            printf("     row %zu: %d\n", i, good);
        CU_ASSERT_EQUAL(good, !*rows[i].says);
    }
    CU_ASSERT_FALSE(expands(BYTES("\4\x10"
                                  "abcde"),
                            5)); /* another length than that of the caller */
    CU_ASSERT_TRUE(ferry__snappy_length(BYTES("\x40\0"), &length));
    CU_ASSERT_EQUAL(length, 64);
    CU_ASSERT_FALSE(ferry__snappy_length(BYTES("\x41\0"), &length));
    CU_ASSERT_FALSE(ferry__snappy_length(BYTES("\x80"), &length));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(damaged_batches_are_refused),
    FERRY_TEST(the_end_of_a_log_may_be_unused),
    FERRY_TEST(parts_of_records_are_checked),
    FERRY_TEST(a_log_that_changes_while_it_is_open_is_refused),
    FERRY_TEST(files_that_are_not_logs_are_ignored),
    FERRY_TEST(damaged_manifests_are_refused),
    FERRY_TEST(an_order_of_other_names_is_unsupported),
    FERRY_TEST(other_contents_of_current_are_refused),
    FERRY_TEST(damaged_tables_are_refused),
    FERRY_TEST(zstd_is_unsupported),
    FERRY_TEST(damaged_snappy_is_refused),
};

int main(int argc, char **argv)
{
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main(argc, argv, "leveldb-damage", cases, FERRY_TEST_COUNT(cases));
    clear();
    rmdir(folder);
    return status;
}
