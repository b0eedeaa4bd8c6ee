/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Arithmetic of the CUDA plugin that ferry's kernels compute: sums, conversions and fills, and the
 * alternatives without kernels.
 */

#define LONG (1048576 + 101) /* elements: many groups, and a remainder */

static const ferry_dtype sums[] = { FERRY_F32, FERRY_F16, FERRY_BF16 };

/* ---- sums ---- */

struct vectors {
    ferry_dtype dtype;
    int64_t n;
    void *dev, *x, *y, *result;
    double want[3], magnitude; /* of dot, asum, sumsq; magnitude: of dot, the sum of |x·y| */
};

static void make(struct vectors *v, void *dev, ferry_dtype dtype, int64_t n)
{
    size_t bytes = (size_t)n * ferry_dtype_size(dtype);
    char *x = malloc(bytes), *y = malloc(bytes);
    unsigned seed = 7;

    *v = (struct vectors){ .dtype = dtype, .n = n, .dev = dev };
    for (int64_t i = 0; i < n; i++) {
        double a, b;

        seed = seed * 1664525u + 1013904223u;
        fx_set(dtype, x, i, (double)(int)(seed >> 8) / 16777216.0 - 0.5);
        fx_set(dtype, y, i, i % 3 ? 0.7 : -1.3);
        a = fx_get(dtype, x, i);
        b = fx_get(dtype, y, i);
        v->want[0] += a * b;
        v->want[1] += fabs(a);
        v->want[2] += a * a;
        v->magnitude += fabs(a * b);
    }
    v->x = cuda_block(dev, bytes);
    v->y = cuda_block(dev, bytes);
    v->result = cuda_block(dev, 64);
    cuda_put(dev, v->x, x, bytes);
    cuda_put(dev, v->y, y, bytes);
    free(x);
    free(y);
}

static void drop(struct vectors *v)
{
    cuda_free_block(v->dev, v->x);
    cuda_free_block(v->dev, v->y);
    cuda_free_block(v->dev, v->result);
}

/* Computes dot, asum and sumsq, one after another. */
static void sum(const struct vectors *v, float out[3])
{
    const ferry_cref x = driver_cref(v->x, 0), y = driver_cref(v->y, 0);
    uint32_t t = (uint32_t)v->dtype;

    CU_ASSERT_EQUAL(cuda->dot(v->dev, NULL, t, v->n, x, y, driver_ref(v->result, 0)), 0);
    CU_ASSERT_EQUAL(cuda->asum(v->dev, NULL, t, v->n, x, driver_ref(v->result, 4)), 0);
    CU_ASSERT_EQUAL(cuda->sumsq(v->dev, NULL, t, v->n, x, driver_ref(v->result, 8)), 0);
    cuda_get(v->dev, v->result, out, 3 * sizeof(*out));
}

/*
 * Checks the sums. `room` is the tolerance relative to the magnitude, in addition to the rounding
 * of the result.
 */
static void check_sums(const struct vectors *v, const float got[3], double room)
{
    CU_ASSERT(fabs((double)got[0] - v->want[0]) <= room * v->magnitude + 6e-8 * fabs(v->want[0]));
    CU_ASSERT(fabs((double)got[1] - v->want[1]) <= (room + 6e-8) * v->want[1]);
    CU_ASSERT(fabs((double)got[2] - v->want[2]) <= (room + 6e-8) * v->want[2]);
}

static void a_sum_is_one_kernel_launch(void)
{
    static const int64_t lengths[] = { 1, 127, 128, 129, 2049, LONG };
    void *dev;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    for (size_t i = 0; i < 3 * sizeof(lengths) / sizeof(lengths[0]); i++) {
        unsigned launches = control->calls("cuLaunchKernel");
        unsigned handles = control->live_handles();
        struct vectors v;
        float got[3];

        make(&v, dev, sums[i % 3], lengths[i / 3]);
        sum(&v, got);
        check_sums(&v, got, 1e-10);
        CU_ASSERT_EQUAL(control->calls("cuLaunchKernel") - launches, 3);
        CU_ASSERT_EQUAL(control->live_handles(), handles);
        drop(&v);
    }
    cuda_close(dev);
}

static void a_repeated_sum_has_the_same_bits(void)
{
    struct vectors v;
    void *dev;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    for (int i = 0; i < 3; i++) {
        float first[3], again[3];

        make(&v, dev, sums[i], LONG);
        sum(&v, first);
        for (int k = 0; k < 3; k++) {
            sum(&v, again);
            CU_ASSERT_EQUAL(memcmp(first, again, sizeof(first)), 0);
        }
        drop(&v);
    }
    cuda_close(dev);
}

static void sums_on_two_queues_do_not_share_scratch(void)
{
    struct vectors v, w;
    void *dev, *queue;
    float got[2] = { 0 };

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    make(&v, dev, FERRY_F32, LONG);
    make(&w, dev, FERRY_F16, LONG);
    CU_ASSERT_EQUAL_FATAL(cuda->queue_create(dev, 0, &queue), 0);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(
            cuda->asum(dev, NULL, FERRY_F32, LONG, driver_cref(v.x, 0), driver_ref(v.result, 0)),
            0);
        CU_ASSERT_EQUAL(
            cuda->asum(dev, queue, FERRY_F16, LONG, driver_cref(w.x, 0), driver_ref(w.result, 0)),
            0);
        CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
        cuda_get(dev, v.result, &got[0], 4);
        cuda_get(dev, w.result, &got[1], 4);
        CU_ASSERT(fabs((double)got[0] - v.want[1]) <= 1e-7 * v.want[1]);
        CU_ASSERT(fabs((double)got[1] - w.want[1]) <= 1e-7 * w.want[1]);
    }
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    drop(&v);
    drop(&w);
    cuda_close(dev);
}

static void a_sum_with_an_infinity_is_infinite(void)
{
    const float numbers[4] = { 1, INFINITY, -2, 3 };
    void *dev, *block;
    float got[2];

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    cuda_put(dev, block, numbers, sizeof(numbers));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL((i ? cuda->sumsq : cuda->asum)(dev, NULL, FERRY_F32, 4,
                                                       driver_cref(block, 0),
                                                       driver_ref(block, 32 + 4 * (uint64_t)i)),
                        0);
    cuda_get(dev, (char *)block + 32, got, sizeof(got));
    CU_ASSERT(isinf(got[0]) && isinf(got[1]));
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* ---- fills ---- */

/*
 * From every position within a word, so that there are elements before the words, after them, or no
 * word at all.
 */
static void a_fill_at_any_offset_is_one_launch(void)
{
    unsigned char got[256], want[256];
    void *dev, *block;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, sizeof(got));
    for (int t = 0; t < FERRY_DTYPE_COUNT; t++)
        for (uint64_t at = 0; at < 16; at += ferry_dtype_size((ferry_dtype)t))
            for (int64_t n = 1; n < 20; n++) {
                size_t size = ferry_dtype_size((ferry_dtype)t);
                unsigned launches = control->calls("cuLaunchKernel");

                memset(want, 0xee, sizeof(want));
                for (int64_t i = 0; i < n; i++)
                    fx_set((ferry_dtype)t, want + at, i,
                           t == FERRY_U8 || t == FERRY_U32 ? 77 : -77);
                CU_ASSERT_EQUAL(cuda->memset(dev, NULL, driver_ref(block, 0), 0xee, sizeof(got)),
                                0);
                CU_ASSERT_EQUAL(cuda->fill(dev, NULL, (uint32_t)t, n,
                                           t == FERRY_U8 || t == FERRY_U32 ? 77 : -77,
                                           driver_ref(block, at)),
                                0);
                cuda_get(dev, block, got, sizeof(got));
                CU_ASSERT_EQUAL(memcmp(got, want, sizeof(got)), 0);
                CU_ASSERT_EQUAL(control->calls("cuLaunchKernel") - launches, 1);
                CU_ASSERT(at + (uint64_t)n * size <= sizeof(got));
            }
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* ---- without kernels ---- */

static void without_kernels_cublas_sums_and_the_driver_fills(void)
{
    struct vectors v;
    float got[3];
    double wide;
    void *dev;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "off");
    dev = cuda_open(0);
    for (int i = 0; i < 3; i++) {
        make(&v, dev, sums[i], LONG);
        sum(&v, got);
        check_sums(&v, got, 1e-6);
        drop(&v);
    }
    make(&v, dev, FERRY_F64, 9);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F64, 9, 0.1, driver_ref(v.x, 0)), 0);
    cuda_get(dev, (char *)v.x + 64, &wide, 8);
    CU_ASSERT_EQUAL(wide, 0.1);
    CU_ASSERT_EQUAL(cuda->supports(dev, FERRY_OP_CONVERT, FERRY_F32), 0);
    CU_ASSERT_EQUAL(
        cuda->convert(dev, NULL, 9, FERRY_F32, driver_cref(v.x, 0), FERRY_F64, driver_ref(v.y, 0)),
        FERRY_EUNSUPPORTED);
    drop(&v);
    cuda_close(dev);
}

/* A source that does not compile is tried once. */
static void operations_that_do_not_compile_are_computed_without_kernels(void)
{
    struct vectors v;
    unsigned tried;
    float got[3];
    void *dev;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    dev = cuda_open(0);
    make(&v, dev, FERRY_BF16, 1000);
    control->fail("nvrtcCompileProgram", 1, 6);
    tried = control->calls("nvrtcCompileProgram");
    sum(&v, got);
    check_sums(&v, got, 1e-6);
    CU_ASSERT_EQUAL(control->calls("nvrtcCompileProgram") - tried, 1);
    CU_ASSERT_EQUAL(cuda->supports(dev, FERRY_OP_CONVERT, FERRY_F32), 0);
    drop(&v);
    cuda_close(dev);
}

/*
 * Each call that can fail, failed: the result is correct, or the failure is reported, and then it
 * works again.
 */
static void a_failed_sum_can_be_retried(void)
{
    struct vectors v;
    int failures = 0;
    float got[3];
    void *dev;

    if (!cuda_load(1, true))
        return;
    for (unsigned n = 1, done = 0; !done; n++) {
        unsigned launches;
        int err;

        dev = cuda_open(0);
        make(&v, dev, FERRY_F32, 5000);
        CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
        control->fail("*", n, CUDA_MEMORY_ALLOCATION);
        err = cuda->asum(dev, NULL, FERRY_F32, v.n, driver_cref(v.x, 0), driver_ref(v.result, 0));
        control->fail("*", 0, 0);
        CU_ASSERT(!err || err == FERRY_ENOMEM);
        failures += err != 0;
        done = !err;
        launches = control->calls("cuLaunchKernel");
        sum(&v, got);
        check_sums(&v, got, 1e-10);
        CU_ASSERT_EQUAL(control->calls("cuLaunchKernel") - launches, 3); /* kernels still compute
                                                                          * them */
        drop(&v);
        cuda_close(dev);
    }
    CU_ASSERT(failures >= 3); /* cudaMalloc, cudaMemsetAsync, cuLaunchKernel */
}

/* ---- conversions ---- */

/*
 * If memory is short for the code of conversions, the device still supports them: the call fails,
 * and the next one succeeds.
 */
static void conversions_without_memory_are_retried(void)
{
    struct vectors v;
    void *dev;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    dev = cuda_open(0);
    make(&v, dev, FERRY_F32, 8);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    control->fail("cuModuleLoadData", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT_EQUAL(cuda->supports(dev, FERRY_OP_CONVERT, FERRY_F64), 1);
    control->fail("cuModuleLoadData", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT_EQUAL(
        cuda->convert(dev, NULL, 4, FERRY_F32, driver_cref(v.x, 0), FERRY_F64, driver_ref(v.y, 0)),
        FERRY_ENOMEM);
    CU_ASSERT_EQUAL(
        cuda->convert(dev, NULL, 4, FERRY_F32, driver_cref(v.x, 0), FERRY_F64, driver_ref(v.y, 0)),
        0);
    drop(&v);
    cuda_close(dev);
}

/*
 * Uses the counters of a runtime. The last case, because the plugin then has ferry's host table.
 */
static void a_conversion_runs_on_the_device(void)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "cuda" };
    ferry_device_stats before = { .struct_size = sizeof before },
                       after = { .struct_size = sizeof after };
    ferry_memory *x, *y;
    ferry_runtime *runtime;
    ferry_device *dev;
    ferry_queue *queue;
    ferry_cref from;
    ferry_ref to;

    if (!cuda_load(1, false))
        return;
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&options, &runtime), 0);
    FX_OK(ferry_runtime_get_device(runtime, NULL, &dev));
    queue = ferry_device_queue(dev);
    FX_OK(ferry_memory_create(dev, 8 * 1000, &x));
    FX_OK(ferry_memory_create(dev, 8 * 1000, &y));
    FX_OK(ferry_math_fill(queue, FERRY_I64, 1000, 1, ferry_memory_overwrite_device_data(x)));
    to = ferry_memory_overwrite_device_data(y);
    from = ferry_memory_device_data(x);
    FX_OK(ferry_device_get_stats(dev, &before));
    for (int a = 0; a < FERRY_DTYPE_COUNT; a++)
        for (int b = 0; b < FERRY_DTYPE_COUNT; b++)
            FX_OK(ferry_math_convert(queue, 1000, (ferry_dtype)a, from, (ferry_dtype)b, to));
    FX_OK(ferry_device_synchronize(dev));
    FX_OK(ferry_device_get_stats(dev, &after));
    CU_ASSERT_EQUAL(after.fallbacks, before.fallbacks);
    CU_ASSERT_EQUAL(after.copies_d2h, before.copies_d2h);
    CU_ASSERT_EQUAL(after.copies_h2d, before.copies_h2d);
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_runtime_close(runtime);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_sum_is_one_kernel_launch),
    FERRY_TEST(a_repeated_sum_has_the_same_bits),
    FERRY_TEST(sums_on_two_queues_do_not_share_scratch),
    FERRY_TEST(a_sum_with_an_infinity_is_infinite),
    FERRY_TEST(a_fill_at_any_offset_is_one_launch),
    FERRY_TEST(without_kernels_cublas_sums_and_the_driver_fills),
    FERRY_TEST(operations_that_do_not_compile_are_computed_without_kernels),
    FERRY_TEST(a_failed_sum_can_be_retried),
    FERRY_TEST(conversions_without_memory_are_retried),
    FERRY_TEST(a_conversion_runs_on_the_device),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda plugin, vectors"), cases,
                           FERRY_TEST_COUNT(cases));
}
