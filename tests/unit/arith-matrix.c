/* SPDX-License-Identifier: BSD-2-Clause */
#include "arith.h"

#include "ferry-test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cases of gemv and gemm; A and B are stored with some extra columns. */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define EXTRA        3

struct matrix {
    ferry_dtype t;
    int trans;
    int64_t ld;
    char *p;
};

/* op(M), rows × columns, random. */
static struct matrix matrix_make(ferry_dtype t, int trans, int64_t rows, int64_t columns,
                                 unsigned seed)
{
    struct matrix m = { .t = t, .trans = trans };
    int64_t stored_rows = trans == FERRY_NO_TRANS ? rows : columns;

    m.ld = (trans == FERRY_NO_TRANS ? columns : rows) + EXTRA;
    m.p = calloc((size_t)(stored_rows * m.ld) + 1, arith_size(t));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m.p);
    arith_random(t, m.p, stored_rows * m.ld, 1, seed);
    return m;
}

/* Element (i, j) of op(M). */
static long double matrix_at(const struct matrix *m, int64_t i, int64_t j)
{
    return arith_get(m->t, m->p, m->trans == FERRY_NO_TRANS ? i * m->ld + j : j * m->ld + i);
}

/* The tolerance of a sum of `inner` products in F32 or F64, finally rounded to t. */
static long double tolerance(ferry_dtype t, int64_t inner)
{
    double sum = t == FERRY_F64 ? 0x1p-52 : 0x1p-23;

    return (long double)(sum * 4 * (double)(inner + 4) +
                         arith_epsilon(t) * (4 + sqrt((double)inner)));
}

/* ---- gemm ----------------------------------------------------------------------------------- */

struct sizes {
    int64_t m, n, k;
};

static void check_gemm(ferry_dtype t, int ta, int tb, struct sizes s, double alpha, double beta)
{
    struct matrix a = matrix_make(t, ta, s.m, s.k, 1), b = matrix_make(t, tb, s.k, s.n, 2);
    struct matrix c = matrix_make(t, FERRY_NO_TRANS, s.m, s.n, 3);
    struct matrix before = matrix_make(t, FERRY_NO_TRANS, s.m, s.n, 3);
    int64_t wrong = 0;

    CU_ASSERT_EQUAL(
        arith->gemm(t, ta, tb, s.m, s.n, s.k, alpha, a.p, a.ld, b.p, b.ld, beta, c.p, c.ld), 0);
    for (int64_t i = 0; i < s.m; i++) {
        for (int64_t j = 0; j < s.n; j++) {
            long double want = beta * matrix_at(&before, i, j);

            for (int64_t p = 0; p < s.k; p++)
                want += alpha * matrix_at(&a, i, p) * matrix_at(&b, p, j);
            wrong += !arith_near(matrix_at(&c, i, j), want, tolerance(t, s.k));
        }
        for (int64_t j = s.n; j < c.ld; j++)
            wrong += matrix_at(&c, i, j) != matrix_at(&before, i, j);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(a.p);
    free(b.p);
    free(c.p);
    free(before.p);
}

void gemm_is_right_for_all_shapes_and_transpositions(void)
{
    static const struct sizes shapes[] = { { 1, 1, 1 },   { 2, 3, 4 },    { 1, 17, 33 },
                                           { 19, 1, 5 },  { 33, 31, 1 },  { 3, 5, 600 },
                                           { 3, 600, 5 }, { 300, 3, 17 }, { 64, 65, 66 },
                                           { 5, 7, 0 } };

    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        for (int i = 0; i < COUNT(shapes); i++) {
            for (int op = 0; op < 4; op++) {
                int ta = op & 1 ? FERRY_TRANS : FERRY_NO_TRANS;
                int tb = op & 2 ? FERRY_TRANS : FERRY_NO_TRANS;

                check_gemm((ferry_dtype)t, ta, tb, shapes[i], 1, 0);
                check_gemm((ferry_dtype)t, ta, tb, shapes[i], -0.5, 2);
            }
        }
    }
}

void gemm_by_beta_0_does_not_read_c(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        double a[4], c[4];

        for (int i = 0; i < 4; i++) {
            arith_put(dtype, a, i, 1);
            arith_put(dtype, c, i, i % 2 ? (long double)NAN : (long double)INFINITY);
        }
        CU_ASSERT_EQUAL(
            arith->gemm(dtype, FERRY_NO_TRANS, FERRY_NO_TRANS, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2), 0);
        for (int i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(arith_get(dtype, c, i), 2);
    }
}

void gemm_by_alpha_0_does_not_read_a_and_b(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        double a[4], c[4];

        for (int i = 0; i < 4; i++) {
            arith_put(dtype, a, i, NAN);
            arith_put(dtype, c, i, 3);
        }
        CU_ASSERT_EQUAL(
            arith->gemm(dtype, FERRY_NO_TRANS, FERRY_TRANS, 2, 2, 2, 0, a, 2, a, 2, 2, c, 2), 0);
        CU_ASSERT_EQUAL(arith->gemv(dtype, FERRY_TRANS, 2, 2, 0, a, 2, a, 1, 2, c, 1), 0);
        CU_ASSERT_EQUAL(arith_get(dtype, c, 0), 12);
        CU_ASSERT_EQUAL(arith_get(dtype, c, 3), 6);
    }
}

/* ---- gemv ----------------------------------------------------------------------------------- */

/* Element i of a vector of n by BLAS's rule for its increment. */
static int64_t at(int64_t n, int64_t increment, int64_t i)
{
    return increment < 0 ? (i - n + 1) * increment : i * increment;
}

static void check_gemv(ferry_dtype t, int trans, int64_t m, int64_t n, int64_t incx, int64_t incy)
{
    int64_t outer = trans == FERRY_NO_TRANS ? m : n, inner = trans == FERRY_NO_TRANS ? n : m;
    struct matrix a = matrix_make(t, trans, outer, inner, 1);
    struct matrix x = matrix_make(t, FERRY_NO_TRANS, 1, inner * llabs(incx), 2);
    struct matrix y = matrix_make(t, FERRY_NO_TRANS, 1, outer * llabs(incy), 3);
    struct matrix before = matrix_make(t, FERRY_NO_TRANS, 1, outer * llabs(incy), 3);
    int64_t wrong = 0;

    CU_ASSERT_EQUAL(arith->gemv(t, trans, m, n, 2, a.p, a.ld, x.p, incx, -1, y.p, incy), 0);
    for (int64_t i = 0; i < outer; i++) {
        int64_t place = at(outer, incy, i);
        long double want = -arith_get(t, before.p, place);

        for (int64_t j = 0; j < inner; j++)
            want += 2 * matrix_at(&a, i, j) * arith_get(t, x.p, at(inner, incx, j));
        wrong += !arith_near(arith_get(t, y.p, place), want, 2 * tolerance(t, inner));
        arith_put(t, y.p, place, arith_get(t, before.p, place));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    /* Bytes between the elements of y have not changed. */
    CU_ASSERT_EQUAL(memcmp(y.p, before.p, (size_t)y.ld * arith_size(t)), 0);
    free(a.p);
    free(x.p);
    free(y.p);
    free(before.p);
}

void gemv_is_right_for_all_shapes_and_strides(void)
{
    static const int64_t shapes[][2] = { { 1, 1 },   { 2, 3 },     { 33, 17 }, { 1, 700 },
                                         { 700, 1 }, { 300, 520 }, { 257, 65 } };
    static const int64_t increments[][2] = { { 1, 1 }, { 2, 1 }, { 1, 3 }, { -1, 1 }, { -2, -3 } };

    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        for (int i = 0; i < COUNT(shapes); i++) {
            for (int k = 0; k < COUNT(increments); k++) {
                check_gemv((ferry_dtype)t, FERRY_NO_TRANS, shapes[i][0], shapes[i][1],
                           increments[k][0], increments[k][1]);
                check_gemv((ferry_dtype)t, FERRY_TRANS, shapes[i][0], shapes[i][1],
                           increments[k][0], increments[k][1]);
            }
        }
    }
}

void gemv_by_beta_0_does_not_read_y(void)
{
    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;
        double a[4], y[4];

        for (int i = 0; i < 4; i++) {
            arith_put(dtype, a, i, 1);
            arith_put(dtype, y, i, NAN);
        }
        CU_ASSERT_EQUAL(arith->gemv(dtype, FERRY_NO_TRANS, 2, 2, 1, a, 2, a, 1, 0, y, 2), 0);
        CU_ASSERT_EQUAL(arith_get(dtype, y, 0), 2);
        CU_ASSERT(isnan(arith_get(dtype, y, 1)));
        CU_ASSERT_EQUAL(arith_get(dtype, y, 2), 2);
    }
}
