/* SPDX-License-Identifier: BSD-2-Clause */
#include "opencl-driver.h"

#include "arith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Runs each of the plugin's own kernels, copies and fills once, on blocks that end with their last
 * element, for a simulator that checks each access (tests/scripts/check-opencl-accesses.sh) and is
 * too slow for more. test-opencl-math checks the results.
 */

#define FIRST 3 /* elements before an operand */

static const ferry_dtype floats[] = { FERRY_F32, FERRY_F64, FERRY_F16, FERRY_BF16 };

/* `n` elements, each `value`, at the end of a block of their own. */
static void *elements(ferry_dtype t, int64_t n, double value)
{
    size_t bytes = (size_t)(n + FIRST) * arith_size(t);
    unsigned char *p = malloc(bytes);
    void *block = ocl_block(bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < n + FIRST; i++)
        arith_put(t, p, i, i < FIRST ? 77 : (long double)value);
    ocl_put(block, 0, p, bytes);
    free(p);
    return block;
}

static ferry_ref at(ferry_dtype t, void *block)
{
    return driver_ref(block, FIRST * arith_size(t));
}

static ferry_cref from(ferry_dtype t, const void *block)
{
    return driver_cref(block, FIRST * arith_size(t));
}

/* Whether the elements are `value` and the elements before them are unchanged; frees the block. */
static void check(ferry_dtype t, void *block, int64_t n, double value)
{
    size_t bytes = (size_t)(n + FIRST) * arith_size(t);
    unsigned char *p = malloc(bytes);
    int64_t wrong = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    ocl_get(block, 0, p, bytes);
    for (int64_t i = 0; i < n + FIRST; i++)
        wrong += arith_get(t, p, i) != (i < FIRST ? 77 : (long double)value);
    CU_ASSERT_EQUAL(wrong, 0);
    free(p);
    ocl_free_block(block);
}

static bool open_own(const char *items)
{
    return ocl_open(0, "arithmetic", "own", "items", items, "f16", "on", NULL);
}

/* ---- vectors -------------------------------------------------------------------------------- */

static void run_vectors(ferry_dtype t, int64_t n)
{
    ferry_dtype rt = t == FERRY_F64 ? FERRY_F64 : FERRY_F32;
    void *x = elements(t, n, 1), *y = elements(t, n, 1), *sum[3];

    CU_ASSERT_EQUAL(ocl->axpy(dev, NULL, t, n, 2, from(t, x), at(t, y)), 0); /* 3 */
    CU_ASSERT_EQUAL(ocl->scal(dev, NULL, t, n, -1, at(t, y)), 0);            /* -3 */
    for (int i = 0; i < 3; i++)
        sum[i] = elements(rt, 1, 0);
    CU_ASSERT_EQUAL(ocl->dot(dev, NULL, t, n, from(t, x), from(t, y), at(rt, sum[0])), 0);
    CU_ASSERT_EQUAL(ocl->asum(dev, NULL, t, n, from(t, y), at(rt, sum[1])), 0);
    CU_ASSERT_EQUAL(ocl->sumsq(dev, NULL, t, n, from(t, y), at(rt, sum[2])), 0);
    check(rt, sum[0], 1, -3.0 * (double)n);
    check(rt, sum[1], 1, 3.0 * (double)n);
    check(rt, sum[2], 1, 9.0 * (double)n);
    check(t, x, n, 1);
    check(t, y, n, -3);
}

static void vectors(const char *items)
{
    static const int64_t sizes[] = { 1, 17, 129, 9001 };

    if (!open_own(items))
        return;
    for (size_t t = 0; t < FERRY_TEST_COUNT(floats); t++)
        for (size_t i = 0; i < FERRY_TEST_COUNT(sizes); i++)
            if (ocl->supports(dev, FERRY_OP_AXPY, floats[t]))
                run_vectors(floats[t], sizes[i]);
    ocl_close();
}

static void vector_kernels_with_few_items_write_only_their_elements(void)
{
    vectors("few");
}

static void vector_kernels_with_many_items_write_only_their_elements(void)
{
    vectors("many");
}

static void conversions_write_only_their_elements(void)
{
    const int64_t n = 133;

    if (!open_own("few"))
        return;
    for (uint32_t xt = 0; xt < FERRY_DTYPE_COUNT; xt++)
        for (uint32_t yt = 0; yt < FERRY_DTYPE_COUNT; yt++) {
            void *x, *y;

            if (!ocl->supports(dev, FERRY_OP_CONVERT, xt) ||
                !ocl->supports(dev, FERRY_OP_CONVERT, yt))
                continue;
            x = elements((ferry_dtype)xt, n, 5);
            y = elements((ferry_dtype)yt, n, 0);
            CU_ASSERT_EQUAL(ocl->convert(dev, NULL, n, xt, from((ferry_dtype)xt, x), yt,
                                         at((ferry_dtype)yt, y)),
                            0);
            check((ferry_dtype)xt, x, n, 5);
            check((ferry_dtype)yt, y, n, 5);
        }
    ocl_close();
}

/* ---- products ------------------------------------------------------------------------------- */

static void run_gemv(ferry_dtype t, bool trans, int64_t inc)
{
    const int64_t m = 5, n = 67, lda = n;
    int64_t nx = trans ? m : n, ny = trans ? n : m, step = inc < 0 ? -inc : inc;
    void *a = elements(t, m * lda, 1), *x = elements(t, (nx - 1) * step + 1, 1);
    void *y = elements(t, ny, 1);

    CU_ASSERT_EQUAL(ocl->gemv(dev, NULL, t, trans ? FERRY_TRANS : FERRY_NO_TRANS, m, n, 2,
                              from(t, a), lda, from(t, x), inc, 1, at(t, y), 1),
                    0);
    ocl_free_block(a);
    ocl_free_block(x);
    check(t, y, ny, 1 + 2.0 * (double)nx);
}

static void run_gemm(ferry_dtype t, bool ta, bool tb)
{
    const int64_t m = 3, n = 65, k = 7;
    void *a = elements(t, m * k, 1), *b = elements(t, k * n, 1), *c = elements(t, m * n, 1);

    CU_ASSERT_EQUAL(ocl->gemm(dev, NULL, t, ta ? FERRY_TRANS : FERRY_NO_TRANS,
                              tb ? FERRY_TRANS : FERRY_NO_TRANS, m, n, k, 2, from(t, a), ta ? m : k,
                              from(t, b), tb ? k : n, 1, at(t, c), n),
                    0);
    ocl_free_block(a);
    ocl_free_block(b);
    check(t, c, m * n, 1 + 2.0 * (double)k);
}

static void products_write_only_their_elements(void)
{
    if (!open_own("few"))
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(floats); i++) {
        if (!ocl->supports(dev, FERRY_OP_GEMM, floats[i]))
            continue;
        for (int t = 0; t < 4; t++) {
            run_gemv(floats[i], t & 1, t & 2 ? -2 : 3);
            run_gemm(floats[i], t & 1, t & 2);
        }
    }
    ocl_close();
}

/* ---- copies --------------------------------------------------------------------------------- */

static void copies_and_fills_write_only_their_bytes(void)
{
    static const int64_t sizes[] = { 1, 31, 128, 515 };

    if (!ocl_open(0, NULL))
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(sizes); i++) {
        int64_t n = sizes[i];
        void *x = elements(FERRY_I32, n, 5), *y = elements(FERRY_I32, n, 0);

        CU_ASSERT_EQUAL(ocl->copy(dev, NULL, FERRY_I32, n, from(FERRY_I32, x), at(FERRY_I32, y)),
                        0);
        CU_ASSERT_EQUAL(ocl->memset(dev, NULL, at(FERRY_I32, x), 0, (uint64_t)n * 4), 0);
        check(FERRY_I32, y, n, 5);
        CU_ASSERT_EQUAL(ocl->fill(dev, NULL, FERRY_I32, n, -9, at(FERRY_I32, x)), 0);
        check(FERRY_I32, x, n, -9);
    }
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(vector_kernels_with_few_items_write_only_their_elements),
    FERRY_TEST(vector_kernels_with_many_items_write_only_their_elements),
    FERRY_TEST(conversions_write_only_their_elements),
    FERRY_TEST(products_write_only_their_elements),
    FERRY_TEST(copies_and_fills_write_only_their_bytes),
};

int main(int argc, char **argv)
{
    if (getenv("FERRY_TEST_QUICK")) {
        puts("FERRY_TEST_QUICK: make check-long runs it, and test-opencl-math checks the kernels");
        return 77;
    }
    return ferry_test_main(argc, argv, "opencl-kernels", cases, FERRY_TEST_COUNT(cases));
}
