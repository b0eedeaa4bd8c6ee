/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CUDA plugin's arithmetic where it is more than a call of cuBLAS.
 */

/* ---- arithmetic that is not a call of cuBLAS and no more ---- */

static void float_arithmetic_and_copies_of_all_dtypes_are_supported(void)
{
    void *dev;

    if (!cuda_load(1, true)) /* a GPU's plugin may lack kernels */
        return;
    dev = cuda_open(0);
    for (uint32_t op = 0; op < 32; op++)
        for (uint32_t t = 0; t < FERRY_DTYPE_COUNT + 2; t++) {
            bool moves = op == FERRY_OP_COPY || op == FERRY_OP_FILL || op == FERRY_OP_CONVERT;
            bool computes = op == FERRY_OP_AXPY || op == FERRY_OP_SCAL || op == FERRY_OP_DOT ||
                            op == FERRY_OP_ASUM || op == FERRY_OP_SUMSQ || op == FERRY_OP_GEMV ||
                            op == FERRY_OP_GEMM;
            uint32_t most = moves ? FERRY_DTYPE_COUNT : computes ? FERRY_BF16 + 1 : 0;

            CU_ASSERT_EQUAL(cuda->supports(dev, op, t), t < most);
        }
    cuda_close(dev);
}

static void fill_sets_every_dtype(void)
{
    static const double values[] = { 0, 1, -3, 0.1, 65519, 5.9e-8, -1.0 / 3, INFINITY };
    unsigned char got[8 * 37], want[8 * 37];
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, sizeof(got));
    for (int t = 0; t < FERRY_DTYPE_COUNT; t++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            ferry_dtype dtype = (ferry_dtype)t;
            size_t bytes = ferry_dtype_size(dtype) * 37;
            double value = t < 4 ? values[v] : (double)v;

            CU_ASSERT_EQUAL(cuda->fill(dev, NULL, dtype, 37, value, driver_ref(block, 0)), 0);
            for (int64_t i = 0; i < 37; i++)
                fx_set(dtype, want, i, value);
            cuda_get(dev, block, got, bytes);
            CU_ASSERT_EQUAL(memcmp(got, want, bytes), 0);
        }
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* The double's rounding, twice: which fill must not apply to halves. */
static void fill_rounds_halves_once(void)
{
    static const double values[] = { 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40,
                                     0x1p-25 + 0x1p-60,     -1 - 0x1p-11 - 0x1p-40,
                                     1 + 0x1p-11 - 0x1p-40, 1 + 0x1p-8 - 0x1p-40,
                                     -1 - 0x1p-8 + 0x1p-40, 1 + 0x1p-7 + 0x1p-8,
                                     1 + 0x1p-10 + 0x1p-11 };
    uint16_t got;
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
        for (int t = FERRY_F16; t <= FERRY_BF16; t++) {
            CU_ASSERT_EQUAL(cuda->fill(dev, NULL, (uint32_t)t, 1, values[v], driver_ref(block, 0)),
                            0);
            cuda_get(dev, block, &got, 2);
            CU_ASSERT_EQUAL(got, fx_encode16((ferry_dtype)t, values[v]));
        }
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static void reduce_long(void *dev, ferry_dtype dtype, int64_t n)
{
    size_t size = ferry_dtype_size(dtype);
    char *host = malloc((size_t)n * size);
    void *block = cuda_block(dev, (uint64_t)n * size), *result = cuda_block(dev, 8);
    double sum = 0, squares = 0;
    float got[2] = { 0 };

    for (int64_t i = 0; i < n; i++) {
        double value = (double)(i % 17) / 16;

        fx_set(dtype, host, i, i % 3 ? value : -value);
        sum += value;
        squares += value * value;
    }
    cuda_put(dev, block, host, (uint64_t)n * size);
    CU_ASSERT_EQUAL(cuda->sumsq(dev, NULL, dtype, n, driver_cref(block, 0), driver_ref(result, 0)),
                    0);
    cuda_get(dev, result, &got[0], 4);
    CU_ASSERT(fabs((double)got[0] - squares) <= 1e-6 * squares);
    CU_ASSERT_EQUAL(cuda->asum(dev, NULL, dtype, n, driver_cref(block, 0), driver_ref(result, 4)),
                    0);
    cuda_get(dev, result, got, 8);
    CU_ASSERT(fabs((double)got[1] - sum) <= 1e-6 * sum);
    cuda_free_block(dev, block);
    cuda_free_block(dev, result);
    free(host);
}

static void long_vectors_are_summed_in_pieces(void)
{
    static const int64_t lengths[] = { 1, 63, 64, 65, 1048576, 1048577, 3 * 1048576 + 100 };
    void *dev;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        reduce_long(dev, FERRY_F32, lengths[i]);
        reduce_long(dev, FERRY_F16, lengths[i]);
        reduce_long(dev, FERRY_BF16, lengths[i]);
    }
    cuda_close(dev);
}

/* Each float that is added to many others of its sign is truncated in the same way. */
static void long_sums_are_not_biased(void)
{
    const int64_t n = INT64_C(1) << 22;
    const double want = (double)0.1f * (double)n;
    void *dev, *block, *result;
    float got[2] = { 0 };

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 4 * (uint64_t)n);
    result = cuda_block(dev, 8);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F32, n, (double)0.1f, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->asum(dev, NULL, FERRY_F32, n, driver_cref(block, 0), driver_ref(result, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->sumsq(dev, NULL, FERRY_F32, n, driver_cref(block, 0), driver_ref(result, 4)), 0);
    cuda_get(dev, result, got, 8);
    CU_ASSERT(fabs((double)got[0] - want) <= 1e-6 * want);
    CU_ASSERT(fabs((double)got[1] - (double)0.1f * want) <= 1e-7 * want);
    cuda_free_block(dev, block);
    cuda_free_block(dev, result);
    cuda_close(dev);
}

static void sums_of_halves_exceed_the_range_of_a_half(void)
{
    void *dev, *block, *result;
    float got[2] = { 0 };

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 20000);
    result = cuda_block(dev, 8);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F16, 10000, -100, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->sumsq(dev, NULL, FERRY_F16, 10000, driver_cref(block, 0), driver_ref(result, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->asum(dev, NULL, FERRY_F16, 10000, driver_cref(block, 0), driver_ref(result, 4)), 0);
    cuda_get(dev, result, got, 8);
    CU_ASSERT_EQUAL((double)got[0], 1e8);
    CU_ASSERT_EQUAL((double)got[1], 1e6);
    cuda_free_block(dev, block);
    cuda_free_block(dev, result);
    cuda_close(dev);
}

/* Half of the sum exceeds a half, the whole does not. */
static void products_of_halves_are_summed_in_f32(void)
{
    uint16_t got = 0;
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 65536);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F16, 8192, 16, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F16, 4096, 16, driver_ref(block, 16384)), 0);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F16, 4096, -16, driver_ref(block, 24576)), 0);
    CU_ASSERT_EQUAL(cuda->gemm(dev, NULL, FERRY_F16, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 8192, 1,
                               driver_cref(block, 0), 8192, driver_cref(block, 16384), 1, 0,
                               driver_ref(block, 32768), 1),
                    0);
    cuda_get(dev, (char *)block + 32768, &got, 2);
    CU_ASSERT_EQUAL(got, 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/*
 * cuBLAS reports at each call whether an architecture supports BF16: ferry computes unsupported
 * calls, and the device computes supported ones, regardless of the device's name and age.
 */
static void bf16_is_computed_where_cublas_supports_it(void)
{
    static const struct {
        const char *call;
        int number; /* of the runtime, which the double's cuBLAS reports as ARCH_MISMATCH,
                     * NOT_SUPPORTED */
    } refusals[] = { { "cublasAxpyEx", 209 }, { "cublasAxpyEx", 801 }, { "cublasScalEx", 209 },
                     { "cublasScalEx", 801 }, { "cublasGemmEx", 209 }, { "cublasGemmEx", 801 } };
    void *dev, *block;

    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_UNIFIED", "tegra", 1);
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_BF16, 32, 1, driver_ref(block, 0)), 0);
    for (size_t i = 0; i < FERRY_TEST_COUNT(refusals) + 1; i++) {
        bool last = i == FERRY_TEST_COUNT(refusals);
        const char *call = last ? "" : refusals[i].call;
        uint16_t got[2] = { 0 };
        int axpy, scal, gemm;

        CU_ASSERT(cuda->supports(dev, FERRY_OP_GEMM, FERRY_BF16));
        control->fail(call, last ? 0 : 1, last ? 0 : refusals[i].number);
        axpy = cuda->axpy(dev, NULL, FERRY_BF16, 1, 1, driver_cref(block, 0), driver_ref(block, 2));
        scal = cuda->scal(dev, NULL, FERRY_BF16, 1, 0.5, driver_ref(block, 2));
        gemm = cuda->gemm(dev, NULL, FERRY_BF16, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 1, 1,
                          driver_cref(block, 0), 1, driver_cref(block, 2), 1, 0,
                          driver_ref(block, 4), 1);
        CU_ASSERT_EQUAL(axpy, strcmp(call, "cublasAxpyEx") == 0 ? FERRY_EUNSUPPORTED : 0);
        CU_ASSERT_EQUAL(scal, strcmp(call, "cublasScalEx") == 0 ? FERRY_EUNSUPPORTED : 0);
        CU_ASSERT_EQUAL(gemm, strcmp(call, "cublasGemmEx") == 0 ? FERRY_EUNSUPPORTED : 0);
        CU_ASSERT_EQUAL(rt.last_error(), 0);
        if (last)
            cuda_get(dev, (char *)block + 2, got, 4);
        CU_ASSERT(!last || (got[0] && got[0] == got[1])); /* once · the result of axpy and scal */
    }
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* With scalars on the host: a program may share the handle. */
static void a_reduction_does_not_change_the_state_of_the_cublas_handle(void)
{
    int (*sscal)(void *, int, const float *, float *, int);
    const float two = 2;
    float got = 0;
    void *dev, *block, *handle = NULL;

    if (!cuda_load(1, false))
        return;
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->native(dev, "cublas_handle", &handle, sizeof(handle)), 0);
    *(void **)&sscal = cuda_cublas("cublasSscal_v2");
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F32, 16, 1, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->asum(dev, NULL, FERRY_F32, 8, driver_cref(block, 0), driver_ref(block, 32)), 0);
    CU_ASSERT_EQUAL(sscal(handle, 4, &two, block, 1), 0);
    cuda_get(dev, block, &got, 4);
    CU_ASSERT_EQUAL((double)got, 2);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(float_arithmetic_and_copies_of_all_dtypes_are_supported),
    FERRY_TEST(fill_sets_every_dtype),
    FERRY_TEST(fill_rounds_halves_once),
    FERRY_TEST(long_vectors_are_summed_in_pieces),
    FERRY_TEST(long_sums_are_not_biased),
    FERRY_TEST(sums_of_halves_exceed_the_range_of_a_half),
    FERRY_TEST(products_of_halves_are_summed_in_f32),
    FERRY_TEST(bf16_is_computed_where_cublas_supports_it),
    FERRY_TEST(a_reduction_does_not_change_the_state_of_the_cublas_handle),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda plugin, math"), cases,
                           FERRY_TEST_COUNT(cases));
}
