/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "io-build.h"

#include <ferry/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Element types of files that ferry lacks: read as another type, or listed and marked. */

static unsigned char file[4096];

static ferry_io *open_bytes(size_t size)
{
    ferry_io *io = NULL;

    FX_OK_FATAL(ferry_io_open_bytes(file, size, "x", &io));
    return io;
}

static const ferry_io_entry *find(ferry_io *io, const char *name)
{
    const ferry_io_entry *entry = NULL;

    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return entry;
}

static void check_stored(ferry_io *io, const char *name, const char *storage, ferry_dtype dtype)
{
    const ferry_io_entry *entry = find(io, name);

    CU_ASSERT_STRING_EQUAL(entry->storage, storage);
    CU_ASSERT_EQUAL(entry->dtype, dtype);
    CU_ASSERT_PTR_NULL(entry->unreadable);
}

/* Reads by ferry_io_read_values, in pieces, and by ferry_io_read into a blob of doubles. */
static void check_values(ferry_io *io, const char *name, int n, const double *want)
{
    const ferry_io_entry *entry = find(io, name);
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL_FATAL(entry->count, n);
    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F64, NULL, FERRY_UNSHAPED, &b));
    FX_OK_FATAL(ferry_io_read(io, entry, b));
    for (int i = 0; i < n; i++) {
        double all = ((const double *)ferry_blob_host_data(b))[i], one;
        unsigned char element[8];

        FX_OK(ferry_io_read_values(io, entry, i, 1, element));
        one = fx_get(entry->dtype, element, 0);
        CU_ASSERT(isnan(want[i]) ? isnan(all) && isnan(one) : all == want[i] && one == want[i]);
    }
    ferry_blob_destroy(b);
}

#define CHECK_VALUES(io, name, ...)                                                   \
    check_values(io, name, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
                 (const double[]){ __VA_ARGS__ })

#define ONE(name, type, shape, begin, end)                                                        \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end \
    "]}"

static void unsupported_types_are_read_as_a_wider_dtype(void)
{
    static const char header[] =
        "{" ONE("u16", "U16", "2", "0", "4") "," ONE("u64", "U64", "1", "4", "12") "," ONE(
            "i16", "I16", "2", "12", "16") "," ONE("b", "BOOL", "3", "16",
                                                   "19") "," ONE("e4", "F8_E4M3", "6", "19",
                                                                 "25") "," ONE("e5", "F8_E5M2", "4",
                                                                               "25", "29") "}";
    static const unsigned char values[] = {
        0xff, 0xff, 1,    0,                            /* 65535, 1 */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, /* 2^63 − 1 */
        0,    0x80, 0xff, 0xff,                         /* −32768, −1 */
        0,    1,    1,                                  /* */
        0x00, 0x38, 0xfe, 0x01, 0x87, 0x7f, /* 0, 1, −448, 2^−9, −7·2^−9, NaN */
        0x3c, 0x7c, 0x01, 0xfb              /* 1, Inf, 2^−16, −57344 */
    };
    ferry_io *io;

    fx_device();
    io = open_bytes(make_safetensors(file, header, ELEMENTS(values)));
    check_stored(io, "u16", "U16", FERRY_U32);
    check_stored(io, "u64", "U64", FERRY_I64);
    check_stored(io, "i16", "I16", FERRY_I32);
    check_stored(io, "b", "BOOL", FERRY_U8);
    check_stored(io, "e4", "F8_E4M3", FERRY_F16);
    check_stored(io, "e5", "F8_E5M2", FERRY_F16);
    CHECK_VALUES(io, "u16", 65535, 1);
    CHECK_VALUES(io, "u64", 9223372036854775807.0);
    CHECK_VALUES(io, "i16", -32768, -1);
    CHECK_VALUES(io, "b", 0, 1, 1);
    CHECK_VALUES(io, "e4", 0, 1, -448, 0.001953125, -0.013671875, (double)NAN);
    CHECK_VALUES(io, "e5", 1, (double)INFINITY, 1.0 / 65536, -57344);
    ferry_io_close(io);
    fx_end();
}

static void numpys_types_are_read_in_any_byte_order(void)
{
    static const struct {
        const char *descr, *storage;
        ferry_dtype dtype;
        unsigned char bytes[8];
        size_t size;
        double value;
    } types[] = {
        { "<u2", "U16", FERRY_U32, { 1, 2 }, 2, 513 },
        { ">u2", "U16", FERRY_U32, { 1, 2 }, 2, 258 },
        { ">i2", "I16", FERRY_I32, { 0xff, 0xfe }, 2, -2 },
        { ">u8", "U64", FERRY_I64, { 0, 0, 0, 0, 0, 0, 1, 0 }, 8, 256 },
        { "|b1", "BOOL", FERRY_U8, { 1 }, 1, 1 },
    };

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        char header[128];
        ferry_io *io;

        snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }",
                 types[i].descr);
        io = open_bytes(make_npy(file, 1, header, types[i].bytes, types[i].size, 1));
        check_stored(io, "x", types[i].storage, types[i].dtype);
        check_values(io, "x", 1, &types[i].value);
        ferry_io_close(io);
    }
    fx_end();
}

static void mismatches_are_an_error_with_their_position(void)
{
    static const uint64_t values[] = { 7, UINT64_C(1) << 63 };
    int64_t out[2];
    ferry_io *io;

    io = open_bytes(make_npy(file, 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }",
                             ELEMENTS(values)));
    FX_OK(ferry_io_read_values(io, find(io, "x"), 0, 1, out));
    CU_ASSERT_EQUAL(out[0], 7);
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_read_values(io, find(io, "x"), 0, 2, out));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "x: element 1 of U64 is beyond I64"));
    ferry_io_close(io);
}

static void check_marked(ferry_io *io, const char *name, const char *storage)
{
    const ferry_io_entry *entry = find(io, name);
    ferry_blob *b = NULL;
    char byte;

    CU_ASSERT_STRING_EQUAL(entry->storage, storage);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry->unreadable);
    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F32, NULL, FERRY_UNSHAPED, &b));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read(io, entry, b));
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 0); /* unchanged */
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 1, &byte));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), name));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), storage));
    ferry_blob_destroy(b);
}

/* One unreadable array does not affect the others. */
static void other_types_are_listed_and_marked(void)
{
    static const char header[] = "{" ONE("f4", "F4", "3", "0", "2") "," ONE(
        "a", "F32", "1", "2", "6") "," ONE("c", "C64", "1", "6", "14") "}";
    static const unsigned char values[14] = { 0, 0, 0, 0, 0x80, 0x3f };
    static const struct {
        const char *descr, *storage;
        size_t size;
    } types[] = {
        { "'|O'", "|O", 5 },
        { "'<c8'", "<c8", 8 },
        { "'<U3'", "<U3", 12 },
        { "'|S5'", "|S5", 5 },
        { "[('a', '<f4'), ('b]', '<i2', (2,))]", "[('a', '<f4'), ('b]', '<i2', (2,))]", 8 },
    };
    ferry_io *io;

    fx_device();
    io = open_bytes(make_safetensors(file, header, ELEMENTS(values)));
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
    check_marked(io, "f4", "F4");
    check_marked(io, "c", "C64");
    CHECK_VALUES(io, "a", 1);
    ferry_io_close(io);
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        char text[160];

        snprintf(text, sizeof(text), "{'descr': %s, 'fortran_order': False, 'shape': (1,), }",
                 types[i].descr);
        io = open_bytes(make_npy(file, 1, text, values, types[i].size, 1));
        check_marked(io, "x", types[i].storage);
        ferry_io_close(io);
    }
    fx_end();
}

/* ---- written -------------------------------------------------------------------------------- */

static void round_trip(ferry_io_format format, const char *storage, ferry_dtype dtype, int n,
                       const double *values, const char *stays)
{
    int64_t shape[1] = { n };
    ferry_io_entry entry = {
        .struct_size = sizeof(entry), .name = "x", .dtype = dtype, .rank = 1, .shape = shape
    };
    unsigned char bytes[64];
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;

    entry.storage = storage;
    for (int i = 0; i < n; i++)
        fx_set(dtype, bytes, i, values[i]);
    if (ferry_io_writer_create("x.types", format, &w) == FERRY_EINVAL)
        return; /* without libhdf5 */
    FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
    FX_OK(ferry_io_writer_write_values(w, bytes, (size_t)n * ferry_dtype_size(dtype)));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    FX_OK_FATAL(ferry_io_open("x.types", &io));
    CU_ASSERT_STRING_EQUAL(find(io, "x")->storage, stays);
    check_values(io, "x", n, values);
    ferry_io_close(io);
    unlink("x.types");
}

/* The type is kept if the format has it; otherwise the dtype is stored. No value changes. */
static void the_storage_type_is_kept_if_the_format_supports_it(void)
{
    static const double counts[] = { 0, 1, 65535 }, signs[] = { -32768, 0, 32767 },
                        truths[] = { 1, 0, 1 }, eighths[] = { 448, -0.001953125, 1.875 },
                        fifths[] = { 57344, -1.75, 1.0 / 65536 };
    static const ferry_io_format formats[] = { FERRY_IO_SAFETENSORS, FERRY_IO_NPZ, FERRY_IO_HDF5 };

    fx_device();
    for (int f = 0; f < 3; f++) {
        bool all = formats[f] == FERRY_IO_SAFETENSORS;

        round_trip(formats[f], "U16", FERRY_U32, 3, counts, "U16");
        round_trip(formats[f], "U64", FERRY_I64, 3, counts, "U64");
        round_trip(formats[f], "I16", FERRY_I32, 3, signs, "I16");
        round_trip(formats[f], "BOOL", FERRY_U8, 3, truths, "BOOL");
        round_trip(formats[f], "F8_E4M3", FERRY_F16, 3, eighths, all ? "F8_E4M3" : "F16");
        round_trip(formats[f], "F8_E5M2", FERRY_F16, 3, fifths, all ? "F8_E5M2" : "F16");
        round_trip(formats[f], "U16", FERRY_F32, 3, counts, "F32"); /* not its dtype */
        round_trip(formats[f], "nonsense", FERRY_F32, 3, counts, "F32");
    }
    fx_end();
}

/* All 65536 halves: the nearest of the 8-bit ones, ties to the even one. */
static void eight_bits_are_rounded_to_nearest(void)
{
    int64_t shape[1] = { 65536 };
    ferry_io_entry entry = {
        .struct_size = sizeof(entry), .name = "x", .dtype = FERRY_F16, .rank = 1, .shape = shape
    };
    uint16_t *halves = malloc(65536 * sizeof(*halves)), *back = malloc(65536 * sizeof(*back));
    static const char *const storages[] = { "F8_E4M3", "F8_E5M2" };
    static const double largest[] = { 448, 57344 };

    CU_ASSERT_FATAL(halves != NULL && back != NULL);
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    for (int s = 0; s < 2; s++) {
        int wrong = 0, bits = s == 0 ? 3 : 2, least = s == 0 ? -6 : -14;
        ferry_io_writer *w = NULL;
        ferry_io *io = NULL;

        entry.storage = storages[s];
        FX_OK_FATAL(ferry_io_writer_create("x.types", FERRY_IO_SAFETENSORS, &w));
        FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
        FX_OK(ferry_io_writer_write_values(w, halves, 65536 * sizeof(*halves)));
        FX_OK_FATAL(ferry_io_writer_commit(w));
        FX_OK_FATAL(ferry_io_open("x.types", &io));
        FX_OK(ferry_io_read_values(io, find(io, "x"), 0, 65536, back));
        for (int i = 0; i < 65536; i++) {
            double x = fx_get(FERRY_F16, halves, i), y = fx_get(FERRY_F16, back, i), step;
            int exponent;

            frexp(x, &exponent);
            step = ldexp(1, (exponent - 1 < least ? least : exponent - 1) - bits);
            x = isfinite(x) ? nearbyint(x / step) * step : x;
            if (s == 0 && fabs(x) > largest[s])
                x = (double)NAN; /* it lacks infinity */
            else if (fabs(x) > largest[s])
                x = copysign((double)INFINITY, x);
            wrong += isnan(x) ? !isnan(y) : x != y || signbit(x) != signbit(y);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        ferry_io_close(io);
    }
    unlink("x.types");
    free(halves);
    free(back);
}

static void accesses_beyond_the_storage_are_refused(void)
{
    static const uint32_t values[] = { 1, 65536 };
    int64_t shape[1] = { 2 };
    ferry_io_entry entry = { .struct_size = sizeof(entry),
                             .name = "x",
                             .dtype = FERRY_U32,
                             .rank = 1,
                             .shape = shape,
                             .storage = "U16" };
    ferry_io_writer *w = NULL;

    FX_OK_FATAL(ferry_io_writer_create("x.types", FERRY_IO_NPY, &w));
    FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_write_values(w, values, sizeof(values)));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "beyond U16"));
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_commit(w));
    CU_ASSERT_NOT_EQUAL(access("x.types", F_OK), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(unsupported_types_are_read_as_a_wider_dtype),
    FERRY_TEST(numpys_types_are_read_in_any_byte_order),
    FERRY_TEST(mismatches_are_an_error_with_their_position),
    FERRY_TEST(other_types_are_listed_and_marked),
    FERRY_TEST(the_storage_type_is_kept_if_the_format_supports_it),
    FERRY_TEST(eight_bits_are_rounded_to_nearest),
    FERRY_TEST(accesses_beyond_the_storage_are_refused),
};

int main(int argc, char **argv)
{
    char folder[] = "/tmp/ferry-test-types-XXXXXX";
    int status;

    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        return 99;
    }
    status = ferry_test_main_backends(argc, argv, "io-types", cases, FERRY_TEST_COUNT(cases));
    rmdir(folder);
    return status;
}
