/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/io.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Caffe's own tests of its Blob and SyncedMemory, in F32 and F64. */

static const ferry_dtype dtypes[] = { FERRY_F32, FERRY_F64 };

/* ---- shape and pointers --------------------------------------------------------------------- */

static void a_new_blob_has_its_shape_and_a_default_blob_has_none(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(dtypes); t++) {
        ferry_blob *none = fx_blob(dtypes[t], FERRY_UNSHAPED, NULL);
        ferry_blob *shaped = FX_BLOB(dtypes[t], 2, 3, 4, 5);

        CU_ASSERT_EQUAL(ferry_blob_num(shaped), 2);
        CU_ASSERT_EQUAL(ferry_blob_channels(shaped), 3);
        CU_ASSERT_EQUAL(ferry_blob_height(shaped), 4);
        CU_ASSERT_EQUAL(ferry_blob_width(shaped), 5);
        CU_ASSERT_EQUAL(ferry_blob_element_count(shaped), 120);
        CU_ASSERT_EQUAL(ferry_blob_rank(none), 0);
        CU_ASSERT_EQUAL(ferry_blob_element_count(none), 0);
        ferry_blob_destroy(none);
        ferry_blob_destroy(shaped);
    }
    fx_end();
}

static void every_accessor_of_a_shaped_blob_gives_a_pointer(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(dtypes); t++) {
        ferry_blob *b = FX_BLOB(dtypes[t], 2, 3, 4, 5);

        CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_diff(b).handle);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_diff(b));
        ferry_blob_destroy(b);
    }
    fx_end();
}

static void a_default_blob_can_be_reshaped(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(dtypes); t++) {
        ferry_blob *b = fx_blob(dtypes[t], FERRY_UNSHAPED, NULL);

        FX_OK(ferry_blob_reshape4(b, 2, 3, 4, 5));
        CU_ASSERT_EQUAL(ferry_blob_num(b), 2);
        CU_ASSERT_EQUAL(ferry_blob_width(b), 5);
        CU_ASSERT_EQUAL(ferry_blob_element_count(b), 120);
        FX_OK(ferry_blob_reshape(b, (int64_t[]){ 0, 5 }, 2, NULL));
        CU_ASSERT_EQUAL(ferry_blob_element_count(b), 0);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* A BlobProto with only num, channels, height, width (fields 1 to 4, below 128). */
static int equals_legacy(const ferry_blob *b, int n, int c, int h, int w)
{
    const unsigned char proto[] = { 0x08, (unsigned char)n, 0x10, (unsigned char)c,
                                    0x18, (unsigned char)h, 0x20, (unsigned char)w };

    return ferry_blob_shape_equals_proto(b, proto, sizeof(proto));
}

static void a_legacy_shape_is_compared_from_its_end(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2);
    CU_ASSERT_EQUAL(equals_legacy(b, 1, 1, 1, 2), 1);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 3, 2 }, 2, NULL));
    CU_ASSERT_EQUAL(equals_legacy(b, 1, 1, 3, 2), 1);
    CU_ASSERT_EQUAL(equals_legacy(b, 3, 1, 3, 2), 0);
    CU_ASSERT_EQUAL(equals_legacy(b, 0, 1, 3, 2), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 3, 2 }, 3, NULL));
    CU_ASSERT_EQUAL(equals_legacy(b, 1, 1, 3, 2), 1);
    CU_ASSERT_EQUAL(equals_legacy(b, 3, 1, 3, 2), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 1, 1, 3, 2 }, 5, NULL));
    CU_ASSERT_EQUAL(equals_legacy(b, 1, 1, 3, 2), 0);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

#define COUNT 120

/* Uniform in [−3, 3], the same each time. */
static void randomise(ferry_blob *b)
{
    void *p = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    srand(1701);
    for (int i = 0; i < COUNT; i++)
        fx_set(ferry_blob_dtype(b), p, i, 6.0 * rand() / RAND_MAX - 3);
}

static void reference_sums(const ferry_blob *b, double *asum, double *sumsq)
{
    const void *p = ferry_blob_host_data(b);

    *asum = *sumsq = 0;
    for (int i = 0; i < COUNT; i++) {
        double x = fx_get(ferry_blob_dtype(b), p, i);

        *asum += fabs(x);
        *sumsq += x * x;
    }
}

/* diff = factor × data, written on the host or on the device. */
static void diff_from_data(ferry_blob *b, double factor, bool on_device)
{
    ferry_queue *q = ferry_device_queue(ferry_blob_home(b));
    ferry_dtype t = ferry_blob_dtype(b);

    if (on_device) {
        ferry_ref diff = ferry_blob_overwrite_device_diff(b);

        FX_OK(ferry_math_copy(q, t, COUNT, ferry_blob_device_data(b), diff));
        FX_OK(ferry_math_scal(q, t, COUNT, factor, diff));
    } else {
        const void *data = ferry_blob_host_data(b);
        void *diff = ferry_blob_overwrite_host_diff(b);

        for (int i = 0; i < COUNT; i++)
            fx_set(t, diff, i, factor * fx_get(t, data, i));
    }
}

static void check_close(double got, double expected)
{
    CU_ASSERT_DOUBLE_EQUAL(got, expected, fabs(expected) * 1e-6);
}

static void check_sums(const ferry_blob *b, double data_asum, double data_sumsq, double diff_asum,
                       double diff_sumsq)
{
    double got = -1;

    FX_OK(ferry_blob_asum_data(b, &got));
    check_close(got, data_asum);
    FX_OK(ferry_blob_sumsq_data(b, &got));
    check_close(got, data_sumsq);
    FX_OK(ferry_blob_asum_diff(b, &got));
    check_close(got, diff_asum);
    FX_OK(ferry_blob_sumsq_diff(b, &got));
    check_close(got, diff_sumsq);
}

static void check_sums_and_scale(ferry_dtype dtype, bool on_device)
{
    ferry_blob *b = FX_BLOB(dtype, 2, 3, 4, 5);
    double asum, sumsq;

    check_sums(b, 0, 0, 0, 0);
    FX_OK(ferry_blob_scale_data(b, 3));
    FX_OK(ferry_blob_scale_diff(b, 3));
    check_sums(b, 0, 0, 0, 0);
    randomise(b);
    reference_sums(b, &asum, &sumsq);
    if (on_device)
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    check_sums(b, asum, sumsq, 0, 0);
    diff_from_data(b, 7, on_device);
    check_sums(b, asum, sumsq, 7 * asum, 49 * sumsq);
    FX_OK(ferry_blob_scale_data(b, 3));
    check_sums(b, 3 * asum, 9 * sumsq, 7 * asum, 49 * sumsq);
    FX_OK(ferry_blob_scale_diff(b, 3));
    check_sums(b, 3 * asum, 9 * sumsq, 21 * asum, 441 * sumsq);
    ferry_blob_destroy(b);
}

static void sums_and_scale_agree_with_a_plain_loop(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(dtypes); t++) {
        check_sums_and_scale(dtypes[t], false);
        check_sums_and_scale(dtypes[t], true);
    }
    fx_end();
}

/* ---- the memory under it -------------------------------------------------------------------- */

static void a_fresh_memory_is_uninitialised_and_has_its_size(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(10);
    CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_UNINITIALIZED);
    CU_ASSERT_EQUAL(ferry_memory_size(m), 10);
    ferry_memory_release(m);
    fx_end();
}

static void both_sides_can_be_allocated(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(10);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_host_data(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    ferry_memory_release(m);
    fx_end();
}

static void check_host(const ferry_memory *m, int value)
{
    const char *p = ferry_memory_host_data(m);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(p[i], value);
}

static void a_host_write_moves_the_head_to_the_host_each_time(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(10);
    for (int value = 1; value <= 2; value++) {
        memset(ferry_memory_mutable_host_data(m), value, 10);
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_AT_HOST);
        check_host(m, value);
    }
    ferry_memory_release(m);
    fx_end();
}

static void a_device_read_synchronises_each_time(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(10);
    for (int value = 1; value <= 2; value++) {
        char there[10];

        memset(ferry_memory_mutable_host_data(m), value, 10);
        fx_device_get(ferry_memory_device_data(m), 10, there);
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_SYNCED);
        for (int i = 0; i < 10; i++)
            CU_ASSERT_EQUAL(there[i], value);
        check_host(m, value);
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_SYNCED);
    }
    ferry_memory_release(m);
    fx_end();
}

static void a_device_write_moves_the_head_to_the_device_each_time(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(10);
    for (int value = 1; value <= 2; value++) {
        fx_device_set(ferry_memory_mutable_device_data(m), 10, (unsigned char)value);
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_AT_DEVICE);
        check_host(m, value);
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_SYNCED);
    }
    ferry_memory_release(m);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_new_blob_has_its_shape_and_a_default_blob_has_none),
    FERRY_TEST(every_accessor_of_a_shaped_blob_gives_a_pointer),
    FERRY_TEST(a_default_blob_can_be_reshaped),
    FERRY_TEST(a_legacy_shape_is_compared_from_its_end),
    FERRY_TEST(sums_and_scale_agree_with_a_plain_loop),
    FERRY_TEST(a_fresh_memory_is_uninitialised_and_has_its_size),
    FERRY_TEST(both_sides_can_be_allocated),
    FERRY_TEST(a_host_write_moves_the_head_to_the_host_each_time),
    FERRY_TEST(a_device_read_synchronises_each_time),
    FERRY_TEST(a_device_write_moves_the_head_to_the_device_each_time),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "caffe-cases", cases, FERRY_TEST_COUNT(cases));
}
