/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <ferry/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Conversion of BlobProto, compared with the behaviour of Caffe's FromProto, ToProto and
 * ShapeEquals.
 */

#define BYTES(...) (const unsigned char[]){ __VA_ARGS__ }, sizeof((unsigned char[]){ __VA_ARGS__ })

/* The first blob of a case: fx_device has recorded the live bytes before it. */
#define NEW_BLOB(...) (fx_device(), FX_BLOB(__VA_ARGS__))

/* 1.0f and 0.0f, 1.0 and -2.0, as encoded in a message. */
#define F_ONE  0x00, 0x00, 0x80, 0x3f
#define F_ZERO 0x00, 0x00, 0x00, 0x00
#define D_ONE  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f
#define D_NEG2 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0

static ferry_blob *unshaped(ferry_dtype dtype)
{
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(fx_device(), dtype, NULL, FERRY_UNSHAPED, &b));
    return b;
}

static double at(const ferry_blob *b, int64_t i)
{
    const void *data = ferry_blob_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    return fx_get(ferry_blob_dtype(b), data, i);
}

static double diff_at(const ferry_blob *b, int64_t i)
{
    return fx_get(ferry_blob_dtype(b), ferry_blob_host_diff(b), i);
}

static void check_shape(const ferry_blob *b, int rank, const int64_t *shape)
{
    CU_ASSERT_EQUAL_FATAL(ferry_blob_rank(b), rank);
    for (int i = 0; i < rank; i++)
        CU_ASSERT_EQUAL(ferry_blob_shape(b)[i], shape[i]);
}

static void check_bytes(const ferry_blob *b, bool diff, const unsigned char *want, size_t size)
{
    unsigned char buf[512];
    size_t got = 0;

    FX_OK_FATAL(ferry_blob_to_proto(b, diff, NULL, 0, &got));
    CU_ASSERT_EQUAL_FATAL(got, size);
    FX_OK_FATAL(ferry_blob_to_proto(b, diff, buf, sizeof(buf), &got));
    CU_ASSERT_EQUAL(memcmp(buf, want, size), 0);
    FX_FAILS(FERRY_EOVERFLOW, ferry_blob_to_proto(b, diff, buf, size - 1, &got));
}

/* ---- to ------------------------------------------------------------------------------------- */

static void a_float_blob_is_written_data_first_and_shape_last(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 2);
    float *data = ferry_blob_overwrite_host_data(b);

    data[0] = 1;
    data[1] = 0;
    check_bytes(b, false, BYTES(0x2a, 8, F_ONE, F_ZERO, 0x3a, 3, 0x0a, 1, 2));
    ((float *)ferry_blob_overwrite_host_diff(b))[0] = 0;
    ((float *)ferry_blob_mutable_host_diff(b))[1] = 1;
    check_bytes(b, true,
                BYTES(0x2a, 8, F_ONE, F_ZERO, 0x32, 8, F_ZERO, F_ONE, 0x3a, 3, 0x0a, 1, 2));
    ferry_blob_destroy(b);
    fx_end();
}

static void a_diff_never_written_is_written_as_zeros(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 1);

    check_bytes(b, true, BYTES(0x2a, 4, F_ZERO, 0x32, 4, F_ZERO, 0x3a, 3, 0x0a, 1, 1));
    ferry_blob_destroy(b);
    fx_end();
}

static void a_double_blob_is_written_shape_first(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F64, 1, 1);

    ((double *)ferry_blob_overwrite_host_data(b))[0] = 1;
    check_bytes(b, false, BYTES(0x3a, 4, 0x0a, 2, 1, 1, 0x42, 8, D_ONE));
    ferry_blob_destroy(b);
    fx_end();
}

static void an_f16_blob_is_written_in_the_format_of_nvcaffe(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F16, 1);

    ((uint16_t *)ferry_blob_overwrite_host_data(b))[0] = 0x3c00;
    check_bytes(b, false, BYTES(0x3a, 3, 0x0a, 1, 1, 0x50, 2, 0x62, 2, 0x00, 0x3c));
    ferry_blob_destroy(b);
    fx_end();
}

static void a_scalar_is_written_without_a_shape(void)
{
    ferry_blob *b;

    fx_device();
    b = fx_blob(FERRY_F32, 0, NULL);
    ((float *)ferry_blob_overwrite_host_data(b))[0] = 1;
    check_bytes(b, false, BYTES(0x2a, 4, F_ONE));
    ferry_blob_destroy(b);
    fx_end();
}

static void an_empty_blob_is_written_and_read_back_empty(void)
{
    ferry_blob *b = unshaped(FERRY_F64);

    check_bytes(b, true, BYTES(0x3a, 3, 0x0a, 1, 0)); /* of values, no field */
    ferry_blob_destroy(b);
    b = NEW_BLOB(FERRY_F64, 2, 0);
    check_bytes(b, true, BYTES(0x3a, 4, 0x0a, 2, 2, 0));
    ferry_blob_destroy(b);
    b = unshaped(FERRY_F32);
    check_bytes(b, false, BYTES(0x3a, 3, 0x0a, 1, 0));
    FX_OK(ferry_blob_from_proto(b, BYTES(0x3a, 3, 0x0a, 1, 0), true));
    check_shape(b, 1, (int64_t[]){ 0 });
    ferry_blob_destroy(b);
    fx_end();
}

static void an_integer_blob_has_no_field_in_a_blobproto(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_I32, 1);
    size_t size = 77;

    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_to_proto(b, false, NULL, 0, &size));
    CU_ASSERT_EQUAL(size, 77);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- from ----------------------------------------------------------------------------------- */

static void packed_and_unpacked_values_read_alike(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 8, F_ONE, F_ZERO, 0x3a, 3, 0x0a, 1, 2), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    CU_ASSERT_EQUAL(at(b, 1), 0);
    FX_OK(ferry_blob_from_proto(
        b, BYTES(0x2d, F_ZERO, 0x3a, 2, 0x08, 3, 0x2a, 4, F_ONE, 0x2d, F_ZERO), true));
    check_shape(b, 1, (int64_t[]){ 3 });
    CU_ASSERT_EQUAL(at(b, 0), 0);
    CU_ASSERT_EQUAL(at(b, 1), 1);
    CU_ASSERT_EQUAL(at(b, 2), 0);
    ferry_blob_destroy(b);
    fx_end();
}

static void any_legacy_field_makes_the_shape_four_dims(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    /* channels = height = width = 1, num = 2, and a shape of 7 that is ignored */
    FX_OK(ferry_blob_from_proto(
        b, BYTES(0x08, 2, 0x10, 1, 0x18, 1, 0x20, 1, 0x3a, 3, 0x0a, 1, 7, 0x2a, 8, F_ONE, F_ZERO),
        true));
    check_shape(b, 4, (int64_t[]){ 2, 1, 1, 1 });
    /* only width: the others are 0 */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x20, 1), true));
    check_shape(b, 4, (int64_t[]){ 0, 0, 0, 1 });
    ferry_blob_destroy(b);
    fx_end();
}

static void no_shape_at_all_is_a_scalar(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 4, F_ONE), true));
    check_shape(b, 0, NULL);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 1);
    CU_ASSERT_EQUAL(at(b, 0), 1);
    FX_FAILS(FERRY_ESHAPE, ferry_blob_from_proto(b, BYTES(0x3a, 0), true));
    FX_FAILS(FERRY_ESHAPE, ferry_blob_from_proto(b, NULL, 0, true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    ferry_blob_destroy(b);
    fx_end();
}

static void doubles_win_over_floats_and_are_converted(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 4, F_ONE, 0x3a, 3, 0x0a, 1, 1, 0x42, 8, D_NEG2),
                                true));
    CU_ASSERT_EQUAL(ferry_blob_dtype(b), FERRY_F32);
    CU_ASSERT_EQUAL(at(b, 0), -2);
    ferry_blob_destroy(b);
    b = unshaped(FERRY_F64);
    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 4, F_ONE), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_missing_diff_keeps_the_old_diff(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 4, F_ZERO, 0x32, 4, F_ONE), true));
    CU_ASSERT_EQUAL(diff_at(b, 0), 1);
    FX_OK(ferry_blob_from_proto(b, BYTES(0x2a, 4, F_ONE), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    CU_ASSERT_EQUAL(diff_at(b, 0), 1);
    ferry_blob_destroy(b);
    fx_end();
}

static void extensions_are_distinguished_by_wire_type(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    /* NVCaffe: type FLOAT16, raw bytes */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x50, 2, 0x62, 2, 0x00, 0x3c), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    /* NVCaffe: type DOUBLE, which is 0; its diff is FLOAT, which is 1 */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x50, 0, 0x58, 1, 0x62, 8, D_NEG2, 0x6a, 4, F_ONE), true));
    CU_ASSERT_EQUAL(at(b, 0), -2);
    CU_ASSERT_EQUAL(diff_at(b, 0), 1);
    /* OpenCL: bytes in 11 and 12, type in 13, where HALF is 1 */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x5a, 2, 0x00, 0x3c, 0x62, 2, 0x00, 0xc0, 0x68, 1), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    CU_ASSERT_EQUAL(diff_at(b, 0), -2);
    /* OpenCL without a type: FLOAT */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x5a, 4, F_ONE), true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    FX_FAILS(FERRY_EFORMAT, ferry_blob_from_proto(b, BYTES(0x50, 2, 0x5a, 4, F_ONE), true));
    ferry_blob_destroy(b);
    fx_end();
}

/* A half-float blob that also has floats: the raw bytes are the values, for diff and data. */
static void of_two_diffs_the_raw_one_is_read(void)
{
    ferry_blob *b = unshaped(FERRY_F32);

    FX_OK(ferry_blob_from_proto(b,
                                BYTES(0x2a, 4, F_ZERO, 0x32, 4, F_ZERO, 0x50, 2, 0x58, 2, 0x62, 2,
                                      0x00, 0x3c, 0x6a, 2, 0x00, 0xc0),
                                true));
    CU_ASSERT_EQUAL(at(b, 0), 1);
    CU_ASSERT_EQUAL(diff_at(b, 0), -2);
    /* only if there are any: here the diff is floats */
    FX_OK(ferry_blob_from_proto(b, BYTES(0x32, 4, F_ONE, 0x50, 2, 0x62, 2, 0x00, 0xc0), true));
    CU_ASSERT_EQUAL(at(b, 0), -2);
    CU_ASSERT_EQUAL(diff_at(b, 0), 1);
    ferry_blob_destroy(b);
    fx_end();
}

static void without_reshape_the_shape_must_match_the_blob(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 3, 2);

    FX_OK(ferry_blob_fill_data(b, 5));
    FX_FAILS(FERRY_ESHAPE,
             ferry_blob_from_proto(b, BYTES(0x2a, 8, F_ONE, F_ZERO, 0x3a, 3, 0x0a, 1, 2), false));
    check_shape(b, 2, (int64_t[]){ 3, 2 });
    CU_ASSERT_EQUAL(at(b, 0), 5);
    FX_OK(ferry_blob_from_proto(b,
                                BYTES(0x08, 1, 0x10, 1, 0x18, 3, 0x20, 2, 0x2a, 24, F_ONE, F_ONE,
                                      F_ONE, F_ONE, F_ONE, F_ZERO),
                                false));
    check_shape(b, 2, (int64_t[]){ 3, 2 }); /* and not 1 1 3 2 */
    CU_ASSERT_EQUAL(at(b, 0), 1);
    CU_ASSERT_EQUAL(at(b, 5), 0);
    ferry_blob_destroy(b);
    fx_end();
}

static int fits(int64_t n, int64_t c, int64_t h, int64_t w, const ferry_blob *b)
{
    unsigned char bytes[] = { 0x08, (unsigned char)n, 0x10, (unsigned char)c,
                              0x18, (unsigned char)h, 0x20, (unsigned char)w };

    return ferry_blob_shape_equals_proto(b, bytes, sizeof(bytes));
}

static void legacy_shapes_are_compared_from_the_end(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 2);

    CU_ASSERT_EQUAL(fits(1, 1, 1, 2, b), 1);
    CU_ASSERT_EQUAL(fits(1, 1, 2, 1, b), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 3, 2 }, 2, NULL));
    CU_ASSERT_EQUAL(fits(1, 1, 3, 2, b), 1);
    CU_ASSERT_EQUAL(fits(3, 1, 3, 2, b), 0);
    CU_ASSERT_EQUAL(fits(0, 1, 3, 2, b), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 3, 2 }, 3, NULL));
    CU_ASSERT_EQUAL(fits(1, 1, 3, 2, b), 1);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 1, 1, 3, 2 }, 5, NULL));
    CU_ASSERT_EQUAL(fits(1, 1, 3, 2, b), 0);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals_proto(b, BYTES(0x3a, 7, 0x0a, 5, 1, 1, 1, 3, 2)), 1);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals_proto(b, BYTES(0x3a, 4, 0x0a, 2, 3, 2)), 0);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals_proto(b, BYTES(0x3a, 4, 0x0a, 9, 3, 2)), FERRY_EFORMAT);
    ferry_blob_destroy(b);
    fx_end();
}

static void large_dims_are_not_truncated(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 1);

    /* 2^32 + 1, which Caffe reads as 1 */
    FX_FAILS(FERRY_ESHAPE,
             ferry_blob_from_proto(
                 b, BYTES(0x2a, 4, F_ONE, 0x3a, 7, 0x0a, 5, 0x81, 0x80, 0x80, 0x80, 0x10), true));
    FX_FAILS(FERRY_EFORMAT,
             ferry_blob_from_proto(b, BYTES(0x08, 0x81, 0x80, 0x80, 0x80, 0x10), true));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- invalid files --------------------------------------------------------------------------- */

struct wrong {
    int code;
    const char *says;
    unsigned char bytes[24];
    size_t size;
};

#define WRONG(code, says, ...)                                                \
    {                                                                         \
        code, says, { __VA_ARGS__ }, sizeof((unsigned char[]){ __VA_ARGS__ }) \
    }

static const struct wrong wrongs[] = {
    WRONG(FERRY_EFORMAT, "at byte 0: a varint runs past the end", 0x80),
    WRONG(FERRY_EFORMAT, "the field number is invalid", 0x02, 0x00),
    WRONG(FERRY_EFORMAT, "the field number is invalid", 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
    WRONG(FERRY_EFORMAT, "num (field 1) at byte 0: a varint has more than", 0x08, 0xff, 0xff, 0xff,
          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
    WRONG(FERRY_EFORMAT, "data (field 5) at byte 0: 2147483647 bytes run past the end", 0x2a, 0xff,
          0xff, 0xff, 0xff, 0x07, 0x00),
    WRONG(FERRY_EFORMAT, "data (field 5) at byte 0: 18446744073709551615 bytes", 0x2a, 0xff, 0xff,
          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
    WRONG(FERRY_EFORMAT, "data (field 5) at byte 2: 3 bytes are not a multiple", 0x20, 1, 0x2a, 3,
          0, 0, 0),
    WRONG(FERRY_EFORMAT, "data (field 5) at byte 0: has wire type 0, not 2", 0x28, 1),
    WRONG(FERRY_EFORMAT, "num (field 1) at byte 0: has wire type 5, not 0", 0x0d, 0, 0, 0, 0),
    WRONG(FERRY_EFORMAT, "shape (field 7) at byte 0: has wire type 0", 0x38, 1),
    WRONG(FERRY_EFORMAT, "num (field 1) at byte 0: is negative", 0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
          0xff, 0xff, 0xff, 0xff, 0x01),
    WRONG(FERRY_EFORMAT, "dim (field 1) at byte 2: dim 0 is negative", 0x3a, 11, 0x08, 0xff, 0xff,
          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
    WRONG(FERRY_EFORMAT, "there is no such wire type", 0x2f),
    WRONG(FERRY_EFORMAT, "the group is not closed", 0x7b, 0x08, 1),
    WRONG(FERRY_EFORMAT, "closes a group that is not open", 0x7b, 0x8c, 0x01),
    WRONG(FERRY_ESHAPE, "data (field 5) at byte 0: 2 values where the shape has 1", 0x2a, 8, F_ONE,
          F_ONE),
    WRONG(FERRY_ESHAPE, "diff (field 6) at byte 6: 2 values where", 0x2a, 4, F_ONE, 0x32, 8, F_ONE,
          F_ONE),
    WRONG(FERRY_ESHAPE, "no values where the shape has 2", 0x3a, 3, 0x0a, 1, 2),
    /* 2^62 × 2^62 × 0: the overflow is detected although the product is 0 */
    WRONG(FERRY_EOVERFLOW, "the dims multiply", 0x3a, 21, 0x0a, 19, 0x80, 0x80, 0x80, 0x80, 0x80,
          0x80, 0x80, 0x80, 0x40, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0),
    WRONG(FERRY_EUNSUPPORTED, "there is no type 3", 0x50, 3, 0x62, 2, 0, 0),
};

static void malformed_bytes_are_named_and_do_not_change_the_blob(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 2, 1);

    FX_OK(ferry_blob_fill_data(b, 5));
    for (size_t i = 0; i < FERRY_TEST_COUNT(wrongs); i++) {
        const struct wrong *w = &wrongs[i];

        FX_FAILS(w->code, ferry_blob_from_proto(b, w->bytes, w->size, true));
        if (!strstr(ferry_last_error(), w->says)) {
            CU_FAIL("the message says something else");
            printf("  wanted \"%s\", got \"%s\"\n", w->says, ferry_last_error());
        }
    }
    check_shape(b, 2, (int64_t[]){ 2, 1 });
    CU_ASSERT_EQUAL(at(b, 1), 5);
    ferry_blob_destroy(b);
    fx_end();
}

static void groups_nested_10000_deep_are_refused(void)
{
    unsigned char *bytes = malloc(20000);
    ferry_blob *b = unshaped(FERRY_F32);

    for (size_t i = 0; i < 10000; i++) {
        bytes[i] = 0x7b;
        bytes[19999 - i] = 0x7c;
    }
    FX_FAILS(FERRY_EFORMAT, ferry_blob_from_proto(b, bytes, 20000, true));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "nest deeper"));
    free(bytes);
    ferry_blob_destroy(b);
    fx_end();
}

static void thirty_three_axes_are_refused_and_thirty_two_are_not(void)
{
    unsigned char bytes[64] = { 0x3a, 34, 0x0a, 32 };
    ferry_blob *b = unshaped(FERRY_F32);

    memset(bytes + 4, 1, 33);
    memcpy(bytes + 36, BYTES(0x2a, 4, F_ONE));
    FX_OK(ferry_blob_from_proto(b, bytes, 42, true));
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 32);
    bytes[1]++;
    bytes[3]++;
    bytes[36] = 1;
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_proto(b, bytes, 37, true));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- both ways ------------------------------------------------------------------------------ */

static void every_dtype_and_shape_round_trips(void)
{
    static const ferry_dtype dtypes[] = { FERRY_F32, FERRY_F64, FERRY_F16 };
    static const int64_t shape[][3] = { { 2, 3, 4 }, { 0, 3, 0 }, { 1, 300, 1 } };

    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(dtypes); t++) {
        for (size_t s = 0; s < 3; s++) {
            ferry_blob *b = fx_blob(dtypes[t], 3, shape[s]), *c = unshaped(dtypes[t]);
            unsigned char buf[8192];
            size_t size = 0, again = 0;

            for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
                fx_set(dtypes[t], ferry_blob_mutable_host_data(b), i, (double)i / 4);
                fx_set(dtypes[t], ferry_blob_mutable_host_diff(b), i, (double)-i);
            }
            FX_OK(ferry_blob_to_proto(b, true, buf, sizeof(buf), &size));
            FX_OK(ferry_blob_from_proto(c, buf, size, true));
            check_shape(c, 3, shape[s]);
            for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
                CU_ASSERT_EQUAL(at(c, i), (double)i / 4);
                CU_ASSERT_EQUAL(diff_at(c, i), (double)-i);
            }
            CU_ASSERT_EQUAL(ferry_blob_shape_equals_proto(b, buf, size), 1);
            FX_OK(ferry_blob_to_proto(c, true, NULL, 0, &again));
            CU_ASSERT_EQUAL(size, again);
            ferry_blob_destroy(b);
            ferry_blob_destroy(c);
        }
    }
    fx_end();
}

static void null_arguments_are_refused(void)
{
    ferry_blob *b = NEW_BLOB(FERRY_F32, 1);
    size_t size;

    FX_FAILS(FERRY_EINVAL, ferry_blob_from_proto(NULL, BYTES(0x20, 1), true));
    FX_FAILS(FERRY_EINVAL, ferry_blob_from_proto(b, NULL, 3, true));
    FX_FAILS(FERRY_EINVAL, ferry_blob_shape_equals_proto(NULL, BYTES(0x20, 1)));
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_proto(NULL, false, NULL, 0, &size));
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_proto(b, false, NULL, 0, NULL));
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_float_blob_is_written_data_first_and_shape_last),
    FERRY_TEST(a_diff_never_written_is_written_as_zeros),
    FERRY_TEST(a_double_blob_is_written_shape_first),
    FERRY_TEST(an_f16_blob_is_written_in_the_format_of_nvcaffe),
    FERRY_TEST(a_scalar_is_written_without_a_shape),
    FERRY_TEST(an_empty_blob_is_written_and_read_back_empty),
    FERRY_TEST(an_integer_blob_has_no_field_in_a_blobproto),
    FERRY_TEST(packed_and_unpacked_values_read_alike),
    FERRY_TEST(any_legacy_field_makes_the_shape_four_dims),
    FERRY_TEST(no_shape_at_all_is_a_scalar),
    FERRY_TEST(doubles_win_over_floats_and_are_converted),
    FERRY_TEST(a_missing_diff_keeps_the_old_diff),
    FERRY_TEST(extensions_are_distinguished_by_wire_type),
    FERRY_TEST(of_two_diffs_the_raw_one_is_read),
    FERRY_TEST(without_reshape_the_shape_must_match_the_blob),
    FERRY_TEST(legacy_shapes_are_compared_from_the_end),
    FERRY_TEST(large_dims_are_not_truncated),
    FERRY_TEST(malformed_bytes_are_named_and_do_not_change_the_blob),
    FERRY_TEST(groups_nested_10000_deep_are_refused),
    FERRY_TEST(thirty_three_axes_are_refused_and_thirty_two_are_not),
    FERRY_TEST(every_dtype_and_shape_round_trips),
    FERRY_TEST(null_arguments_are_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "io-proto", cases, FERRY_TEST_COUNT(cases));
}
