/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "io-build.h"

#include <ferry/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Malformed files: each is rejected with one line that names the field and the byte. */

static void check_wrong(const void *bytes, size_t size, int code, const char *says)
{
    ferry_io *io = NULL;
    int err = ferry_io_open_bytes(bytes, size, "bad", &io);

    CU_ASSERT_EQUAL(err, code);
    CU_ASSERT_PTR_NULL(io);
    if (err != code || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another code or message");
        printf("  wanted %d \"%s\", got %d \"%s\"\n", code, says, err, ferry_last_error());
    }
    ferry_io_close(io);
}

static void malformed_npy_is_named(void)
{
    static const struct {
        int code;
        const char *says, *header;
    } wrongs[] = {
        { FERRY_EFORMAT, "a comma is missing between entries",
          "{'descr': [('a', '<f4'), 'fortran_order': False, "
          "'shape': (1,), }" },
        { FERRY_EFORMAT, "'f4' is not a NumPy type",
          "{'descr': 'f4', 'fortran_order': False, 'shape': (1,), }" },
        { FERRY_EFORMAT, "4 bytes where the shape has 2",
          "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }" },
        { FERRY_EFORMAT, "no byte order",
          "{'descr': '|f4', 'fortran_order': False, "
          "'shape': (1,), }" },
        { FERRY_EFORMAT, "4 bytes where the shape has 8", SHAPED("(2,)") },
        { FERRY_EFORMAT, "4 bytes where the shape has 0", SHAPED("(0,)") },
        { FERRY_EFORMAT, "not a tuple", SHAPED("[1]") },
        { FERRY_EFORMAT, "is not a tuple", SHAPED("(1)") },
        { FERRY_EFORMAT, "shape at byte 61: a dim is not a number", SHAPED("(-1,)") },
        { FERRY_EFORMAT, "a comma is missing in the shape", SHAPED("(1 1)") },
        { FERRY_EOVERFLOW, "does not fit", SHAPED("(9223372036854775808,)") },
        { FERRY_EOVERFLOW, "multiply", SHAPED("(4294967296, 4294967296, 0)") },
        { FERRY_EFORMAT, "shape is missing", "{'descr': '<f4', 'fortran_order': False}" },
        { FERRY_EFORMAT, "neither True nor False",
          "{'descr': '<f4', 'fortran_order': 0, "
          "'shape': (1,), }" },
        { FERRY_EFORMAT, "the same key twice",
          "{'descr': '<f4', 'descr': '<f4', 'shape': (1,), }" },
        { FERRY_EFORMAT, "an unknown key", "{'descr': '<f4', 'x': False, 'shape': (1,), }" },
        { FERRY_EFORMAT, "text follows the dictionary", SHAPED("(1,)") " x" },
        { FERRY_EFORMAT, "not a dictionary", "" },
    };
    unsigned char file[256];

    for (size_t i = 0; i < FERRY_TEST_COUNT(wrongs); i++)
        check_wrong(file, make_npy(file, 1, wrongs[i].header, "\0\0\0\0", 4, 1), wrongs[i].code,
                    wrongs[i].says);
    check_wrong(BYTES("\x93NUMPY\4\0\0\0"), FERRY_EUNSUPPORTED, "version at byte 6: 4.0");
    check_wrong(BYTES("\x93NUMPY\1\0"), FERRY_EFORMAT, "truncated");
    check_wrong(BYTES("\x93NUMPY\2\0\xff\xff\xff\x7f{"), FERRY_EFORMAT, "run past the end");
}

static void malformed_safetensors_are_named(void)
{
    static const struct {
        int code;
        const char *says, *header;
    } wrongs[] = {
#define TENSOR(shape, from, to) \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"
        { FERRY_EFORMAT, "bytes belong to no array", "{}" },
        { FERRY_EFORMAT, "leave a hole", "{\"a\":" TENSOR("[0]", "4", "4") "}" },
        { FERRY_EFORMAT, "overlap",
          "{\"a\":" TENSOR("[]", "0", "4") ",\"b\":" TENSOR("[]", "0", "4") "}" },
        { FERRY_EFORMAT, "0 to 8 of 4", "{\"a\":" TENSOR("[2]", "0", "8") "}" },
        { FERRY_EFORMAT, "4 to 0 of 4", "{\"a\":" TENSOR("[1]", "4", "0") "}" },
        { FERRY_EFORMAT, "data_offsets differ", "{\"a\":" TENSOR("[2]", "0", "4") "}" },
        { FERRY_EOVERFLOW, "multiply", "{\"a\":" TENSOR("[4294967296,4294967296]", "0", "4") "}" },
        { FERRY_EOVERFLOW, "63 bits", "{\"a\":" TENSOR("[9223372036854775808]", "0", "4") "}" },
        { FERRY_EFORMAT, "not a whole number", "{\"a\":" TENSOR("[-1]", "0", "4") "}" },
        { FERRY_EFORMAT, "not a whole number", "{\"a\":" TENSOR("[1.5]", "0", "4") "}" },
        { FERRY_EFORMAT, "comes twice",
          "{\"a\":" TENSOR("[1]", "0", "4") ",\"a\":" TENSOR("[0]", "4", "4") "}" },
        { FERRY_EFORMAT, "data_offsets differ",
          "{\"a\":{\"dtype\":\"U16\",\"shape\":[4],\"data_offsets\":[0,4]}}" },
        { FERRY_EFORMAT, "data_offsets is missing", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}" },
        { FERRY_EFORMAT, "the same key twice", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}" },
        { FERRY_EFORMAT, "neither a comma", "{\"a\":" TENSOR("[1]", "0", "4") },
        { FERRY_EFORMAT, "more than one object", "{\"a\":" TENSOR("[1]", "0", "4") "}{" },
        { FERRY_EFORMAT, "unterminated", "{\"a" },
        { FERRY_EFORMAT, "invalid UTF-8", "{\"\xc0\xaf\":0}" },
        { FERRY_EFORMAT, "half of a surrogate", "{\"\\ud800\":0}" },
        { FERRY_EFORMAT, "a NUL", "{\"\\u0000\":0}" },
        { FERRY_EFORMAT, "not a string", "{\"__metadata__\":{\"a\":1}}" },
        { FERRY_EFORMAT, "comes twice", "{\"__metadata__\":{},\"__metadata__\":{}}" },
    };
    unsigned char file[512];

    for (size_t i = 0; i < FERRY_TEST_COUNT(wrongs); i++)
        check_wrong(file, make_safetensors(file, wrongs[i].header, "\0\0\0\0", 4, 1),
                    wrongs[i].code, wrongs[i].says);
    check_wrong(BYTES("\xff\xff\xff\x7f\0\0\0\0{}"), FERRY_EFORMAT, "above the format's limit");
    check_wrong(BYTES("\xff\xff\x00\0\0\0\0\0{}"), FERRY_EFORMAT, "run past the end");
}

static void deeply_nested_json_is_refused(void)
{
    enum { DEPTH = 100000 };
    unsigned char *file = malloc(2 * DEPTH + 64);
    size_t size = 8;

    memcpy(file + size, "{\"a\":{\"x\":", 10);
    size += 10;
    memset(file + size, '[', DEPTH);
    size += DEPTH;
    memset(file, 0, 8);
    file[0] = (unsigned char)(size - 8);
    file[1] = (unsigned char)((size - 8) >> 8);
    file[2] = (unsigned char)((size - 8) >> 16);
    check_wrong(file, size, FERRY_EFORMAT, "nest too deep");
    free(file);
}

static void malformed_nets_are_named(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 }, blob = { .size = 0 };

    put_string(&net, 1, "n");
    put_string(&layer, 1, "conv");
    put_varint(&blob, 4, 3);
    put_bytes(&blob, 5, "\0\0\0\0", 4);
    put_bytes(&layer, 7, blob.at, blob.size);
    put_bytes(&net, 100, layer.at, layer.size);
    check_wrong(net.at, net.size, FERRY_ESHAPE, "BlobProto.data (field 5) at byte 16: 1 values");
    check_wrong(net.at, net.size - 1, FERRY_EFORMAT,
                "NetParameter.layer (field 100) at byte 3: 16 bytes run past the end, byte 21");
    check_wrong(BYTES("\x0a\1n\xa2\6\4\x3a\x02\x28\x05"), FERRY_EFORMAT,
                "BlobProto.data (field 5) at byte 8: has wire type 0");
    check_wrong(BYTES("\x0a\1n\xa2\6\4\x0a\x02x\0"), FERRY_EFORMAT, "contains a NUL byte");
}

/* Nets with names of 1 to 60 bytes: their lengths are control characters, blanks or printable. */
static void a_caffemodel_cut_before_its_first_layer_is_called_too_short(void)
{
    static const char name[61] = "a_net_with_a_name_that_has_up_to_sixty_characters_and_no_mo";

    for (size_t length = 1; length < sizeof name - 1; length++) {
        struct msg net = { .size = 0 };
        char says[64];

        put_bytes(&net, 1, name, length);
        put_bytes(&net, 100, "\x0a\1d", 3);
        for (size_t size = 1; size <= 3 + length; size++) {
            snprintf(says, sizeof says,
                     "bad: format at byte 0: too short for a file of weights: "
                     "it ends at byte %zu",
                     size);
            check_wrong(net.at, size, FERRY_EFORMAT, says);
        }
    }
    check_wrong(BYTES("\xa2"), FERRY_EFORMAT, "too short");
}

static void files_without_arrays_are_refused(void)
{
    ferry_io *io = NULL;
    char folder[] = "/tmp/ferry-test-io-XXXXXX", path[64];

    check_wrong(BYTES("layer { name: \"conv1\" }\n"), FERRY_EFORMAT, "is text");
    check_wrong(BYTES("\x7f\6\2\1\1"), FERRY_EFORMAT, "not a format of");
    check_wrong("", 0, FERRY_EFORMAT, "is empty");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    FX_FAILS(FERRY_EIO, ferry_io_open(folder, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "is a directory"));
    snprintf(path, sizeof(path), "%s/empty", folder);
    FX_FAILS(FERRY_EIO, ferry_io_open(path, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "No such file"));
    fclose(fopen(path, "w"));
    FX_FAILS(FERRY_EFORMAT, ferry_io_open(path, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "is empty"));
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    FX_FAILS(FERRY_EIO, ferry_io_open(path, &io));
    unlink(path);
    rmdir(folder);
    FX_FAILS(FERRY_EINVAL, ferry_io_open(NULL, &io));
    CU_ASSERT_PTR_NULL(io);
}

/* Every shorter piece of a good file is an error, or a good file of fewer arrays; never a crash. */
static void check_pieces(const unsigned char *bytes, size_t size)
{
    for (size_t n = 1; n < size; n++) {
        unsigned char *piece = malloc(n); /* of its own, so that a sanitizer sees each overrun */
        ferry_io *io = NULL;

        memcpy(piece, bytes, n);
        if (ferry_io_open_bytes(piece, n, "piece", &io) == FERRY_OK)
            CU_ASSERT_EQUAL(ferry_io_entry_count(io), 0);
        ferry_io_close(io);
        free(piece);
    }
}

static void truncation_at_every_byte_is_found(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 };
    unsigned char file[512];
    float one = 1;

    put_string(&net, 1, "n");
    put_string(&layer, 1, "conv");
    put_blob(&layer, 7, 3, 1);
    put_bytes(&net, 100, layer.at, layer.size);
    check_pieces(net.at, net.size);
    check_pieces(file, make_npy(file, 1, SHAPED("(1,)"), &one, 4, 4));
    check_pieces(file, make_safetensors(file, "{\"a\":" TENSOR("[1]", "0", "4") "}", &one, 4, 4));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(malformed_npy_is_named),
    FERRY_TEST(malformed_safetensors_are_named),
    FERRY_TEST(deeply_nested_json_is_refused),
    FERRY_TEST(malformed_nets_are_named),
    FERRY_TEST(files_without_arrays_are_refused),
    FERRY_TEST(truncation_at_every_byte_is_found),
    FERRY_TEST(a_caffemodel_cut_before_its_first_layer_is_called_too_short),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "io-malformed", cases, FERRY_TEST_COUNT(cases));
}
