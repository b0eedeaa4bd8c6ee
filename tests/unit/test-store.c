/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kernels/store.h"

#include "ferry-test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of compiled programs: each reason for which a file is not trusted. */

#define KEY "device|driver|text"

static char folder[] = "/tmp/ferry-store-XXXXXX", path[64];
static const unsigned char binary[] = { 0x7f, 'E', 'L', 'F', 0, 1, 2, 3, 0xff, 0, 0, 'x' };
static unsigned char whole[256];
static size_t bytes;

/* The reader's message about the file; "taken" if it returns the binary. */
static const char *said(const char *key)
{
    struct stored s;
    const char *why = store_read(path, key, &s);

    if (!why) {
        CU_ASSERT_EQUAL(s.bytes, sizeof(binary));
        CU_ASSERT_EQUAL(memcmp(s.binary, binary, sizeof(binary)), 0);
    }
    free(s.file);
    return why ? why : "taken";
}

static void put(const unsigned char *from, size_t n)
{
    FILE *f = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(from, 1, n, f), n);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

static void begin(void)
{
    FILE *f;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(strcpy(folder, "/tmp/ferry-store-XXXXXX")));
    snprintf(path, sizeof(path), "%s/one", folder);
    CU_ASSERT_STRING_EQUAL(said(KEY), "");
    CU_ASSERT_TRUE(store_write(path, KEY, binary, sizeof(binary)));
    f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    bytes = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    CU_ASSERT_FATAL(bytes > sizeof(binary) + strlen(KEY) && bytes < sizeof(whole));
}

static void end(void)
{
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0); /* the folder contains nothing else */
}

static void stored_values_are_read_back(void)
{
    struct stat s;

    begin();
    CU_ASSERT_EQUAL(stat(path, &s), 0);
    CU_ASSERT_EQUAL(s.st_mode & 07777, 0600);
    CU_ASSERT_STRING_EQUAL(said(KEY), "taken");
    CU_ASSERT_STRING_EQUAL(said("device|driver|other"), "it was made by another driver");
    CU_ASSERT_STRING_EQUAL(said("device|driver|tex"), "it was made by another driver");
    end();
}

static void every_flipped_bit_is_detected(void)
{
    begin();
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        whole[bit / 8] ^= (unsigned char)(1u << bit % 8);
        put(whole, bytes);
        CU_ASSERT_STRING_NOT_EQUAL(said(KEY), "taken");
        whole[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    put(whole, bytes);
    CU_ASSERT_STRING_EQUAL(said(KEY), "taken");
    end();
}

static void truncated_files_and_trailing_bytes_are_detected(void)
{
    begin();
    for (size_t n = 0; n < bytes; n++) {
        put(whole, n);
        CU_ASSERT_STRING_NOT_EQUAL(said(KEY), "taken");
    }
    whole[bytes] = 0;
    put(whole, bytes + 1);
    CU_ASSERT_STRING_EQUAL(said(KEY), "it is truncated");
    end();
}

static void world_writable_files_are_not_read(void)
{
    begin();
    CU_ASSERT_EQUAL(chmod(path, 0620), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "other users can write it");
    CU_ASSERT_EQUAL(chmod(path, 0602), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "other users can write it");
    CU_ASSERT_EQUAL(chmod(path, 0644), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "taken");
    end();
}

static void files_of_another_user_are_not_read(void)
{
    begin();
    if (chown(path, 65534, 65534) != 0) {
        ferry_test_skip("only root can give a file away");
    } else {
        CU_ASSERT_STRING_EQUAL(said(KEY), "other users can write it");
        CU_ASSERT_TRUE(store_write(path, KEY, binary, sizeof(binary))); /* replaces it */
        CU_ASSERT_STRING_EQUAL(said(KEY), "taken");
    }
    end();
}

/* The file is opened without waiting, and never through a link. */
static void only_regular_files_are_read(void)
{
    char other[80];

    begin();
    snprintf(other, sizeof(other), "%s/other", folder);
    CU_ASSERT_EQUAL(rename(path, other), 0);
    CU_ASSERT_EQUAL(symlink(other, path), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "");
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "it is not a file");
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    CU_ASSERT_STRING_EQUAL(said(KEY), "it is not a file");
    CU_ASSERT_FALSE(store_write(path, KEY, binary, sizeof(binary)));
    CU_ASSERT_EQUAL(rmdir(path), 0);
    CU_ASSERT_EQUAL(rename(other, path), 0);
    end();
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(stored_values_are_read_back),
        FERRY_TEST(every_flipped_bit_is_detected),
        FERRY_TEST(truncated_files_and_trailing_bytes_are_detected),
        FERRY_TEST(world_writable_files_are_not_read),
        FERRY_TEST(files_of_another_user_are_not_read),
        FERRY_TEST(only_regular_files_are_read),
    };

    return ferry_test_main(argc, argv, "store", cases, FERRY_TEST_COUNT(cases));
}
