/* SPDX-License-Identifier: BSD-2-Clause */
#include "arith.h"

#include "ferry-test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cases of vectors: axpy, scal, dot, asum, sumsq. */

/*
 * Sizes around that of a vector, of a block, and of the pieces into which a plugin may divide a
 * loop.
 */
static const int64_t sizes[] = { 1,     2,      3,      4,      5,      7,     8,     9,
                                 15,    16,     17,     31,     32,     33,    63,    64,
                                 65,    119,    120,    121,    255,    256,   257,   511,
                                 512,   513,    1023,   1024,   1025,   2049,  4095,  4097,
                                 8193,  32767,  32768,  32769,  65535,  65536, 65537, 98304,
                                 98305, 131071, 131073, 262144, 262145, 300001 };
static const int64_t offsets[] = { 0, 1, 2, 3, 5, 7 };

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define LARGEST      300001
#define GUARD        8 /* elements on either side that must not change */

struct vectors {
    ferry_dtype t;
    int64_t n, at; /* at: where the vectors begin */
    char *x, *y, *before;
};

static size_t room(ferry_dtype t)
{
    return (size_t)(LARGEST + 2 * GUARD) * arith_size(t);
}

static void *place(const struct vectors *v, char *base)
{
    return base + (size_t)v->at * arith_size(v->t);
}

/* Sizes that take long: the shortest run has four of them, a slow one 65537 alone. */
static bool is_left_out(int64_t n)
{
    if (n < 10000 || n == 65537)
        return false;
    return ferry_test_is_slow() ||
           (ferry_test_is_shortest() && n != 32769 && n != 131073 && n != LARGEST);
}

/* Runs `check` on fresh random vectors of every size and offset of a dtype. */
static void for_all_vectors(ferry_dtype t, void (*check)(const struct vectors *v))
{
    struct vectors v = { .t = t };

    v.x = aligned_alloc(64, (room(t) + 63) / 64 * 64);
    v.y = aligned_alloc(64, (room(t) + 63) / 64 * 64);
    v.before = malloc(room(t));
    CU_ASSERT_PTR_NOT_NULL_FATAL(v.x && v.y && v.before ? v.x : NULL);
    arith_random(t, v.x, LARGEST + 2 * GUARD, 2, 1);
    arith_random(t, v.before, LARGEST + 2 * GUARD, 3, 2);
    for (int i = 0; i < COUNT(sizes); i++) {
        if (is_left_out(sizes[i]))
            continue;
        for (int k = 0; k < (sizes[i] > 10000 ? 2 : COUNT(offsets)); k++) {
            v.n = sizes[i];
            v.at = offsets[k];
            memcpy(v.y, v.before, (size_t)(v.n + 2 * GUARD) * arith_size(t));
            check(&v);
        }
    }
    free(v.x);
    free(v.y);
    free(v.before);
}

static int guards_stand(const struct vectors *v)
{
    size_t size = arith_size(v->t), begin = (size_t)v->at * size;
    size_t end = (size_t)(v->at + v->n) * size;

    return memcmp(v->y, v->before, begin) == 0 &&
           memcmp(v->y + end, v->before + end, (size_t)(2 * GUARD - v->at) * size) == 0;
}

/* ---- axpy, scal ----------------------------------------------------------------------------- */

static void check_axpy(const struct vectors *v)
{
    double epsilon = arith_epsilon(v->t);
    int64_t wrong = 0;

    CU_ASSERT_EQUAL_FATAL(arith->axpy(v->t, v->n, -1.25, place(v, v->x), place(v, v->y)), 0);
    for (int64_t i = 0; i < v->n; i++) {
        long double x = arith_get(v->t, v->x, v->at + i);
        long double want = arith_get(v->t, v->before, v->at + i) - 1.25L * x;

        wrong += !arith_near(arith_get(v->t, v->y, v->at + i), want, epsilon * 5);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(guards_stand(v));
}

void axpy_is_right_at_every_size_and_offset(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++)
        for_all_vectors((ferry_dtype)t, check_axpy);
}

void axpy_may_add_a_vector_to_itself(void)
{
    static double space[70000];

    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        int wrong = 0;

        for (int i = 0; i < 70000; i++)
            arith_put((ferry_dtype)t, space, i, i % 64);
        CU_ASSERT_EQUAL(arith->axpy((ferry_dtype)t, 70000, 0.5, space, space), 0);
        for (int i = 0; i < 70000; i++)
            wrong += arith_get((ferry_dtype)t, space, i) != 1.5L * (i % 64);
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

void axpy_by_0_leaves_y_alone(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        double x[4], y[4], before[4];

        for (int i = 0; i < 4; i++) {
            arith_put((ferry_dtype)t, x, i, i ? (long double)INFINITY : (long double)NAN);
            arith_put((ferry_dtype)t, y, i, -0.0L);
        }
        memcpy(before, y, sizeof(y));
        CU_ASSERT_EQUAL(arith->axpy((ferry_dtype)t, 4, 0, x, y), 0);
        CU_ASSERT_EQUAL(memcmp(before, y, 4 * arith_size((ferry_dtype)t)), 0);
    }
}

void axpy_keeps_nan_and_infinity(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        double x[20], y[20];

        arith_random(dtype, x, 20, 1, 1);
        arith_random(dtype, y, 20, 1, 2);
        arith_put(dtype, x, 3, NAN);
        arith_put(dtype, x, 4, INFINITY);
        arith_put(dtype, x, 5, INFINITY);
        arith_put(dtype, y, 5, INFINITY);
        arith_put(dtype, y, 18, NAN);
        arith_put(dtype, x, 19, -0.0L);
        arith_put(dtype, y, 19, -0.0L);
        CU_ASSERT_EQUAL(arith->axpy(dtype, 20, 1, y, y), 0); /* 2y, initially */
        CU_ASSERT_EQUAL(arith->axpy(dtype, 20, -1, x, y), 0);
        CU_ASSERT(isnan(arith_get(dtype, y, 3)));
        CU_ASSERT_EQUAL(arith_get(dtype, y, 4), -(long double)INFINITY);
        CU_ASSERT(isnan(arith_get(dtype, y, 5)));
        CU_ASSERT(isnan(arith_get(dtype, y, 18)));
        CU_ASSERT_EQUAL(arith_get(dtype, y, 19), 0);
        CU_ASSERT(isfinite(arith_get(dtype, y, 0)));
    }
}

static void check_scal(const struct vectors *v)
{
    int64_t wrong = 0;

    CU_ASSERT_EQUAL_FATAL(arith->scal(v->t, v->n, 3, place(v, v->y)), 0);
    for (int64_t i = 0; i < v->n; i++) {
        long double want = 3 * arith_get(v->t, v->before, v->at + i);

        wrong += !arith_near(arith_get(v->t, v->y, v->at + i), want, arith_epsilon(v->t) * 5);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(guards_stand(v));
}

void scal_is_right_at_every_size_and_offset(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++)
        for_all_vectors((ferry_dtype)t, check_scal);
}

void scal_by_0_keeps_nan(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        double x[20];

        arith_random((ferry_dtype)t, x, 20, 1, 1);
        arith_put((ferry_dtype)t, x, 2, NAN);
        arith_put((ferry_dtype)t, x, 19, INFINITY);
        CU_ASSERT_EQUAL(arith->scal((ferry_dtype)t, 20, 0, x), 0);
        CU_ASSERT_EQUAL(arith_get((ferry_dtype)t, x, 0), 0);
        CU_ASSERT(isnan(arith_get((ferry_dtype)t, x, 2)));
        CU_ASSERT(isnan(arith_get((ferry_dtype)t, x, 19)));
    }
}

/* ---- reductions ----------------------------------------------------------------------------- */

static void check_reductions(const struct vectors *v)
{
    long double dot = 0, asum = 0, sumsq = 0, scale = 0;
    double got_dot = -1, got_asum = -1, got_sumsq = -1;
    double tolerance = v->t == FERRY_F64 ? 1e-12 : 1e-7;

    for (int64_t i = 0; i < v->n; i++) {
        long double x = arith_get(v->t, v->x, v->at + i), y = arith_get(v->t, v->y, v->at + i);

        dot += x * y;
        scale += fabsl(x * y);
        asum += fabsl(x);
        sumsq += x * x;
    }
    CU_ASSERT_EQUAL(arith->dot(v->t, v->n, place(v, v->x), place(v, v->y), &got_dot), 0);
    CU_ASSERT_EQUAL(arith->asum(v->t, v->n, place(v, v->x), &got_asum), 0);
    CU_ASSERT_EQUAL(arith->sumsq(v->t, v->n, place(v, v->x), &got_sumsq), 0);
    CU_ASSERT(arith_near(got_dot, dot, scale * tolerance));
    CU_ASSERT(arith_near(got_asum, asum, asum * tolerance));
    CU_ASSERT(arith_near(got_sumsq, sumsq, sumsq * tolerance));
}

void reductions_are_right_at_every_size_and_offset(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++)
        for_all_vectors((ferry_dtype)t, check_reductions);
}

/*
 * The sum of sixteen million times 0.1: a running sum in single precision is off by a tenth and
 * more.
 */
void reductions_of_single_precision_sum_in_double(void)
{
    int64_t n = ferry_test_is_slow() ? 1 << 20 : (1 << 24) + 300000;
    float *x = malloc((size_t)n * sizeof(*x));
    double got = 0, one = (double)0.1f;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.1f;
    CU_ASSERT_EQUAL(arith->asum(FERRY_F32, n, x, &got), 0);
    CU_ASSERT(arith_near(got, one * (double)n, one * (double)n * 1e-6));
    CU_ASSERT_EQUAL(arith->sumsq(FERRY_F32, n, x, &got), 0);
    CU_ASSERT(arith_near(got, one * one * (double)n, one * one * (double)n * 1e-6));
    CU_ASSERT_EQUAL(arith->dot(FERRY_F32, n, x, x, &got), 0);
    CU_ASSERT(arith_near(got, one * one * (double)n, one * one * (double)n * 1e-6));
    x[0] = 1e30f; /* squares that exceed F32 cancel */
    x[1] = 1e30f;
    x[2] = -1e30f;
    CU_ASSERT_EQUAL(arith->dot(FERRY_F32, 2, x, x + 1, &got), 0);
    CU_ASSERT_EQUAL(got, 0.0);
    free(x);
}

void reductions_keep_nan_and_infinity(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        double x[50], got = 0;

        for (int at = 0; at < 50; at++) {
            arith_random(dtype, x, 50, 1, 1);
            arith_put(dtype, x, at, -(long double)INFINITY);
            CU_ASSERT(!arith->asum(dtype, 50, x, &got) && got == (double)INFINITY);
            CU_ASSERT(!arith->sumsq(dtype, 50, x, &got) && got == (double)INFINITY);
            arith_put(dtype, x, at, NAN);
            CU_ASSERT(!arith->asum(dtype, 50, x, &got) && isnan(got));
            CU_ASSERT(!arith->sumsq(dtype, 50, x, &got) && isnan(got));
            CU_ASSERT(!arith->dot(dtype, 50, x, x, &got) && isnan(got));
        }
    }
}

void integers_are_no_operands(void)
{
    for (int t = FERRY_I8; t <= FERRY_U32; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        int64_t x[4] = { 1, 2, 3, 4 }, y[4] = { 5, 6, 7, 8 };
        double out = 42;

        CU_ASSERT_EQUAL(arith->axpy(dtype, 4, 2, x, y), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(arith->scal(dtype, 4, 2, y), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(arith->dot(dtype, 4, x, y, &out), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(arith->asum(dtype, 4, x, &out), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(arith->sumsq(dtype, 4, x, &out), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(arith->gemv(dtype, FERRY_NO_TRANS, 1, 1, 1, x, 1, x, 1, 0, y, 1),
                        FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(
            arith->gemm(dtype, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 1, 1, x, 1, x, 1, 0, y, 1),
            FERRY_EUNSUPPORTED);
        CU_ASSERT(y[0] == 5 && y[3] == 8 && out == 42.0);
    }
}
