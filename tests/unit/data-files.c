/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "data-files.h"
#include "ferry-test.h"

#if defined(FERRY_NET_HAVE_PNG) && defined(FERRY_NET_HAVE_LMDB)

#include <lmdb.h>
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ferry-data-XXXXXX";

const char *df_in(const char *name)
{
    static char paths[4][160];
    static int at;

    at = (at + 1) % 4;
    snprintf(paths[at], sizeof paths[at], "%s/%s", folder, name);
    return paths[at];
}

/* ---- pictures -------------------------------------------------------------------------------- */

unsigned char df_pixel(int seed, int c, int y, int x)
{
    return (unsigned char)(seed * 40 + c * 16 + y * 4 + x);
}

static void write_png(const char *name, int seed, int height, int width)
{
    png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_BGR };
    unsigned char *bytes = malloc((size_t)(3 * height * width)), *p = bytes;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                *p++ = df_pixel(seed, c, y, x);
    image.height = (png_uint_32)height;
    image.width = (png_uint_32)width;
    CU_ASSERT_NOT_EQUAL(png_image_write_to_file(&image, df_in(name), 0, bytes, 0, NULL), 0);
    free(bytes);
}

void df_write_text(const char *name, const char *text)
{
    FILE *f = fopen(df_in(name), "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

/* A list that contains a byte of 0. */
static void write_zero(void)
{
    FILE *f = fopen(df_in("zero"), "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite("a 1\n\0b 2\n", 1, 9, f), 9);
    fclose(f);
}

/* ---- databases ------------------------------------------------------------------------------- */

struct record {
    unsigned char bytes[1024];
    size_t size;
};

static void put(struct record *r, unsigned value)
{
    for (; value > 127; value >>= 7)
        r->bytes[r->size++] = (unsigned char)(value | 128);
    r->bytes[r->size++] = (unsigned char)value;
}

static void put_number(struct record *r, unsigned field, unsigned value)
{
    put(r, field << 3);
    put(r, value);
}

static void put_bytes(struct record *r, unsigned field, const void *bytes, size_t size)
{
    put(r, field << 3 | 2);
    put(r, (unsigned)size);
    memcpy(r->bytes + r->size, bytes, size);
    r->size += size;
}

static struct record datum_of(unsigned channels, unsigned height, unsigned width, unsigned label)
{
    struct record r = { .size = 0 };

    put_number(&r, 1, channels);
    put_number(&r, 2, height);
    put_number(&r, 3, width);
    put_number(&r, 5, label);
    return r;
}

/* 2 x 2 x 3 bytes, from `first` on. */
static struct record bytes_datum(unsigned channels, unsigned first, unsigned label)
{
    struct record r = datum_of(channels, 2, 3, label);
    unsigned char bytes[64];

    for (unsigned i = 0; i < channels * 6; i++)
        bytes[i] = (unsigned char)(first + i);
    put_bytes(&r, 4, bytes, channels * 6);
    return r;
}

static struct record encoded_datum(const char *picture, unsigned label)
{
    struct record r = { .size = 0 };
    unsigned char bytes[900];
    FILE *f = fopen(df_in(picture), "rb");
    size_t size;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    put_bytes(&r, 4, bytes, size);
    put_number(&r, 5, label);
    put_number(&r, 7, 1);
    return r;
}

static void write_records(const char *name, const struct record *records, int n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;

    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&env), 0);
    mkdir(df_in(name), 0755);
    /* Without the lock file, whose robust mutexes qemu-user does not support on riscv64. */
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(env, df_in(name), MDB_NOLOCK, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    for (int i = 0; i < n; i++) {
        char key[16];
        MDB_val k = { (size_t)snprintf(key, sizeof key, "%08d", i), key };
        MDB_val v = { records[i].size, (void *)(uintptr_t)records[i].bytes };

        CU_ASSERT_EQUAL(mdb_put(txn, dbi, &k, &v, 0), 0);
    }
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void write_damaged_files(void)
{
    struct record r[3] = { bytes_datum(2, 0, 7), bytes_datum(1, 0, 8), bytes_datum(2, 0, 9) };
    struct record whole = bytes_datum(2, 0, 7);

    write_records("channels", r, 2);
    r[1] = r[2];
    r[1].size -= 5;
    write_records("cut", r, 2);
    write_records("empty", r, 0);
    whole.bytes[3] = 9; /* its height */
    write_records("shape", &whole, 1);
    whole.size = 0;
    write_records("nothing", &whole, 1);
    whole = encoded_datum("0", 1);
    whole.bytes[40] ^= 0xff;
    write_records("damaged", &whole, 1);
    write_records("short", r, 1);
    CU_ASSERT_EQUAL(truncate(df_in("short/data.mdb"), 8192), 0);
    mkdir(df_in("level"), 0755);
    df_write_text("level/CURRENT", "MANIFEST-000002\n");
    mkdir(df_in("folder"), 0755);
    df_write_text("labels", "0 1\n1\n");
    df_write_text("words", "0 cat\n");
    df_write_text("gone", "0 1\nnowhere 2\n");
    df_write_text("none", "\n \n");
    write_zero();
    df_write_text("no-picture", "list 1\n");
}

void df_write_files(void)
{
    struct record r[3] = { bytes_datum(2, 0, 7), bytes_datum(2, 100, 8), bytes_datum(2, 200, 9) };
    float floats[6] = { -1.5f, 0, 2, 3, 4, 1e6f };
    struct record f = datum_of(1, 2, 3, 4);
    char text[16];

    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%d", i);
        write_png(text, i, 4, 6);
    }
    write_png("odd", 3, 3, 5);
    df_write_text("list", "0 10\n1 11\r\n\n2 12\n");
    df_write_text("mixed", "0 0\nodd 1\n");
    write_records("bytes", r, 3);
    put_bytes(&f, 6, floats, sizeof floats);
    write_records("floats", &f, 1);
    r[0] = encoded_datum("0", 1);
    r[1] = encoded_datum("1", 2);
    write_records("encoded", r, 2);
    r[1] = encoded_datum("odd", 2);
    write_records("sizes", r, 2);
    write_damaged_files();
    df_write_text("written", "");
}

/* ---- the folder ------------------------------------------------------------------------------ */

int df_main(int argc, char **argv, const char *name, const ferry_test_case *cases, size_t count)
{
    char command[64];
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main_backends(argc, argv, name, cases, count);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0)
        printf("     %s stays\n", folder);
    return status;
}

#endif
