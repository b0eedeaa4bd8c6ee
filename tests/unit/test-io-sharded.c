/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "io-build.h"
#include "oom.h"

#include <ferry/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* safetensors in several files, by their index. The program has a folder of its own. */

static void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void put_shards(void)
{
    static const char first[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                      second[] = "{\"b\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[0,4]},"
                                 "\"c\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[4,5]}}";
    const float values[2] = { 1, 2 };
    unsigned char bytes[512];

    put_file("m-1.safetensors", bytes, make_safetensors(bytes, first, ELEMENTS(values)));
    put_file("m-2.safetensors", bytes, make_safetensors(bytes, second, "\3\0\4\0\0", 5, 1));
}

#define ARRAYS                                                                         \
    "\"weight_map\":{\"b\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\",\"c\":\"m-2." \
    "safetensors\"}"

static const char index_text[] = "{\"metadata\":{\"total_size\":13}, " ARRAYS "}\n";

static void check_value(ferry_io *io, int64_t i, const char *name, double value)
{
    const ferry_io_entry *entry = NULL;
    unsigned char bytes[16];

    FX_OK_FATAL(ferry_io_entry_at(io, i, &entry));
    CU_ASSERT_STRING_EQUAL(entry->name, name);
    FX_OK(ferry_io_read_values(io, entry, 1, 1, bytes));
    CU_ASSERT_EQUAL(fx_get(entry->dtype, bytes, 0), value);
}

static void arrays_are_read_from_all_shards(void)
{
    const ferry_io_entry *entry = NULL;
    const char *key, *value;
    ferry_io *io = NULL;

    put_shards();
    put_file("m.safetensors.index.json", index_text, sizeof(index_text) - 1);
    FX_OK_FATAL(ferry_io_open("m.safetensors.index.json", &io));
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_SAFETENSORS);
    CU_ASSERT_EQUAL_FATAL(ferry_io_entry_count(io), 3);
    check_value(io, 0, "b", 4);
    check_value(io, 1, "a", 2);
    FX_OK(ferry_io_entry_at(io, 2, &entry));
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    FX_OK(ferry_io_metadata_at(io, 0, &key, &value));
    CU_ASSERT_STRING_EQUAL(value, "pt");
    ferry_io_close(io);
}

static void check_wrong(const char *text, int code, const char *says)
{
    ferry_io *io = NULL;
    int err;

    put_file("m.safetensors.index.json", text, strlen(text));
    err = ferry_io_open("m.safetensors.index.json", &io);
    CU_ASSERT_EQUAL(err, code);
    if (err != code || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another code or message");
        printf("  wanted %d \"%s\", got %d \"%s\"\n", code, says, err, ferry_last_error());
    }
    ferry_io_close(io);
}

static void malformed_indices_are_named(void)
{
    static const char npy[] = "\x93NUMPY\1\0";

    put_shards();
    put_file("m-3.safetensors", npy, sizeof(npy) - 1);
    check_wrong("{\"weight_map\":{\"x\":\"m-1.safetensors\"}}", FERRY_EFORMAT,
                "x is not in m-1.safetensors");
    check_wrong("{\"weight_map\":{\"a\":\"none\"}}", FERRY_EIO, "none: No such file");
    check_wrong("{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}", FERRY_EFORMAT,
                "is not the name");
    check_wrong("{\"weight_map\":{\"a\":\"\"}}", FERRY_EFORMAT, "is not the name");
    check_wrong("{\"weight_map\":{\"a\":\"..\"}}", FERRY_EFORMAT, "is not the name");
    check_wrong("{\"weight_map\":{\"a\":7}}", FERRY_EFORMAT, "index at byte");
    check_wrong("{\"weight_map\":[]}", FERRY_EFORMAT, "not an object");
    check_wrong("{\"weight_map\":{}, \"weight_map\":{}}", FERRY_EFORMAT, "comes twice");
    check_wrong("{\"x\":\"\\\"weight_map\\\"\"}", FERRY_EFORMAT, "");
    check_wrong("{\"a\":\"weight_map\", \"b\":\"weight_map\"}", FERRY_EFORMAT,
                "weight_map is missing");
    check_wrong("{\"weight_map\":{\"a\":\"m-1.safetensors\",\"a\":\"m-1.safetensors\"}}",
                FERRY_EFORMAT, "comes twice");
    check_wrong("{\"weight_map\":{\"a\":\"m-3.safetensors\"}}", FERRY_EFORMAT, "m-3.safetensors");
    /* itself: no endless loop */
    check_wrong("{\"weight_map\":{\"a\":\"m.safetensors.index.json\"}}", FERRY_EFORMAT, "is text");
}

static void a_truncated_index_is_refused(void)
{
    put_shards();
    for (size_t n = 1; n + 3 < sizeof(index_text); n++) {
        ferry_io *io = NULL;

        put_file("cut.json", index_text, n);
        CU_ASSERT_NOT_EQUAL(ferry_io_open("cut.json", &io), FERRY_OK);
    }
}

static void every_allocation_may_fail(void)
{
    bool failed = true;

    put_shards();
    put_file("m.safetensors.index.json", index_text, sizeof(index_text) - 1);
    for (unsigned n = 1; failed; n++) {
        ferry_io *io = NULL;
        int err;

        oom_arm(n);
        err = ferry_io_open("m.safetensors.index.json", &io);
        failed = oom_disarm();
        CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : FERRY_OK);
        ferry_io_close(io);
        CU_ASSERT_FATAL(n < 1000);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(arrays_are_read_from_all_shards),
    FERRY_TEST(malformed_indices_are_named),
    FERRY_TEST(a_truncated_index_is_refused),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    static const char *const files[] = { "m-1.safetensors", "m-2.safetensors", "m-3.safetensors",
                                         "m.safetensors.index.json", "cut.json" };
    char folder[] = "/tmp/ferry-test-sharded-XXXXXX";
    int status;

    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        return 99;
    }
    status = ferry_test_main(argc, argv, "io-sharded", cases, FERRY_TEST_COUNT(cases));
    for (size_t i = 0; i < FERRY_TEST_COUNT(files); i++)
        unlink(files[i]);
    rmdir(folder);
    return status;
}
