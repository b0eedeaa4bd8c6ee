/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <stdlib.h>
#include <string.h>

/*
 * Devices whose kernels are bound to ranges of blocks: the alignment of a range (offset_alignment),
 * and its length (max_binding). sim refuses ranges that ferry must not pass.
 */

#define N        3
#define OLD_BYTE 0x5a

static const float ones[4 * N] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static ferry_memory *ones_on_device(void)
{
    ferry_memory *m = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), 4096, &m), 0);
    memcpy(ferry_memory_overwrite_host_data(m), ones, sizeof(ones));
    return m;
}

static uint64_t fallbacks(void)
{
    ferry_device_stats stats = { .struct_size = sizeof stats };

    FX_OK(ferry_device_get_stats(wx_dev(0), &stats));
    return stats.fallbacks;
}

static ferry_ref at(ferry_ref ref, uint64_t bytes)
{
    ref.offset += bytes;
    return ref;
}

static ferry_cref from(ferry_cref ref, uint64_t bytes)
{
    ref.offset += bytes;
    return ref;
}

/* ---- where operands begin ------------------------------------------------------------------- */

static void a_device_reports_the_requirements_of_its_kernels(void)
{
    const ferry_device_properties *p;

    wx_begin();
    p = ferry_device_get_properties(wx_dev(0));
    CU_ASSERT_EQUAL(p->offset_alignment, 256);
    CU_ASSERT_EQUAL(p->max_binding, 1u << 20);
    wx_end();
}

/*
 * Performs every operation twice: at the beginning of a block, where kernels can be bound, and 12
 * bytes later. Stores the results for operands of ones.
 */
static void operations(ferry_queue *q, ferry_cref x, ferry_ref y, uint64_t skip, double *out)
{
    FX_OK(ferry_math_axpy(q, FERRY_F32, N, 2, x, at(y, skip)));
    FX_OK(ferry_math_scal(q, FERRY_F32, N, 2, at(y, skip)));
    FX_OK(ferry_math_dot(q, FERRY_F32, N, from(ferry_ref_const(y), skip), x, &out[0]));
    FX_OK(ferry_math_asum(q, FERRY_F32, N, from(ferry_ref_const(y), skip), &out[1]));
    FX_OK(ferry_math_sumsq(q, FERRY_F32, N, from(ferry_ref_const(y), skip), &out[2]));
    FX_OK(ferry_math_gemv(q, FERRY_F32, FERRY_NO_TRANS, 1, N, 1, x, N,
                          from(ferry_ref_const(y), skip), 1, 0, at(y, skip + 1024), 1));
    FX_OK(ferry_math_gemm(q, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, N, 1,
                          from(ferry_ref_const(y), skip), N, x, 1, 1, at(y, skip + 1024), 1));
    FX_OK(ferry_math_convert(q, N, FERRY_F32, from(ferry_ref_const(y), skip), FERRY_F64,
                             at(y, skip + 2048 + skip % 8)));
    FX_OK(ferry_math_fill(q, FERRY_F32, N, 0.5, at(y, skip + 512)));
    FX_OK(ferry_math_copy(q, FERRY_F32, N, from(ferry_ref_const(y), skip), at(y, skip + 768)));
}

static void check_results(const char *host, const double *out)
{
    const float *f = (const float *)(const void *)host;
    const double *converted = (const double *)(const void *)(host + 2048 + 16);

    CU_ASSERT_DOUBLE_EQUAL(out[0], 6 * N, 0);
    CU_ASSERT_DOUBLE_EQUAL(out[1], 6 * N, 0);
    CU_ASSERT_DOUBLE_EQUAL(out[2], 36 * N, 0);
    for (int i = 0; i < N; i++)
        CU_ASSERT(f[3 + i] == 6 && f[131 + i] == 0.5f && f[195 + i] == 6 && converted[i] == 6);
    CU_ASSERT(f[259] == 2 * 6 * N);
}

static void an_unaligned_slice_is_computed_on_the_host_and_counted(void)
{
    ferry_memory *x, *y, *z;
    ferry_queue *q;
    uint64_t before;
    double out[3] = { 0 };

    wx_begin();
    q = wx_queue(0);
    x = ones_on_device();
    y = ones_on_device();
    z = ones_on_device();
    before = fallbacks();
    operations(q, ferry_memory_device_data(x), ferry_memory_mutable_device_data(z), 0, out);
    CU_ASSERT_EQUAL(fallbacks(), before);
    operations(q, ferry_memory_device_data(x), ferry_memory_mutable_device_data(y), 12, out);
    CU_ASSERT_EQUAL(fallbacks(), before + 9); /* the copy is not a fallback */
    check_results(ferry_memory_host_data(y), out);
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_memory_release(z);
    wx_end();
}

static void a_misaligned_slice_is_computed_on_the_host(void)
{
    const int64_t shape[] = { 128, N };
    ferry_blob *parent = NULL, *slice = NULL;
    uint64_t before;

    wx_begin();
    before = fallbacks();
    CU_ASSERT_EQUAL_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, shape, 2, &parent), 0);
    ((float *)ferry_blob_mutable_host_data(parent))[N] = 1;
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(parent).handle);
    CU_ASSERT_EQUAL_FATAL(ferry_blob_slice(parent, 1, 1, &slice), 0);
    FX_OK(ferry_blob_scale_data(slice, 3));
    CU_ASSERT_EQUAL(fallbacks(), before + 1);
    CU_ASSERT(((const float *)ferry_blob_host_data(parent))[N] == 3);
    ferry_blob_destroy(slice);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(parent).handle);
    CU_ASSERT_EQUAL_FATAL(ferry_blob_slice(parent, 64, 1, &slice), 0);
    FX_OK(ferry_blob_scale_data(slice, 3));
    CU_ASSERT_EQUAL(fallbacks(), before + 1);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(parent);
    wx_end();
}

static void strict_reports_the_offset_and_the_alignment(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_memory *x = NULL;
    ferry_ref ref;

    wx_begin();
    setenv("FERRY_STRICT", "1", 1);
    FX_OK_FATAL(ferry_runtime_open(NULL, &rt));
    unsetenv("FERRY_STRICT");
    FX_OK_FATAL(ferry_runtime_get_device(rt, "sim:0", &dev));
    FX_OK_FATAL(ferry_memory_create(dev, 4096, &x));
    memset(ferry_memory_overwrite_host_data(x), 0, 4096);
    ref = ferry_memory_mutable_device_data(x);
    FX_FAILS(FERRY_EUNSUPPORTED,
             ferry_math_scal(ferry_device_queue(dev), FERRY_F32, N, 2, at(ref, 12)));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "begins at byte 12"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "not a multiple of 256"));
    FX_OK(ferry_math_scal(ferry_device_queue(dev), FERRY_F32, N, 2, at(ref, 256)));
    ferry_memory_release(x);
    ferry_runtime_close(rt);
    wx_end();
}

/* ---- how far they reach --------------------------------------------------------------------- */

static void a_block_beyond_the_largest_binding_is_refused_with_both_numbers(void)
{
    ferry_memory *m = NULL;
    ferry_ref ref;

    wx_begin();
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), (1u << 20) + 4, &m), 0);
    memset(ferry_memory_overwrite_host_data(m), OLD_BYTE, (1u << 20) + 4);
    ref = ferry_memory_mutable_device_data(m);
    FX_FAILED(FERRY_ENOMEM, ref.handle == NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "1048580"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "1048576"));
    CU_ASSERT_EQUAL(((const unsigned char *)ferry_memory_host_data(m))[1u << 20], OLD_BYTE);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), 1u << 20, &m), 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    ferry_memory_release(m);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_device_reports_the_requirements_of_its_kernels),
    FERRY_TEST(an_unaligned_slice_is_computed_on_the_host_and_counted),
    FERRY_TEST(a_misaligned_slice_is_computed_on_the_host),
    FERRY_TEST(strict_reports_the_offset_and_the_alignment),
    FERRY_TEST(a_block_beyond_the_largest_binding_is_refused_with_both_numbers),
};

int main(int argc, char **argv)
{
    static const char *const discrete[] = { "offset_alignment", "256", "max_binding", "1MiB",
                                            NULL };
    static const char *const shared[] = { "offset_alignment", "256", "max_binding", "1MiB",
                                          "unified",          "on",  NULL };
    static const struct wx_world worlds[] = {
        { "discrete", discrete, cases, FERRY_TEST_COUNT(cases) },
        { "unified", shared, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "binding", worlds, FERRY_TEST_COUNT(worlds));
}
