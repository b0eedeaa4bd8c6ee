/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/math/hostmath.h"

#include "common/half.h"
#include "common/rounding.h"
#include "core/math/hostblock.h"

#include <stdbool.h>
#include <string.h>

#define ACCUMULATORS 8

static bool is_real(ferry_dtype t)
{
    return t == FERRY_F32 || t == FERRY_F64 || t == FERRY_F16 || t == FERRY_BF16;
}

static int block_size(int64_t left)
{
    return left < FERRY__BLOCK ? (int)left : FERRY__BLOCK;
}

/* ---- y += alpha·x, x *= alpha --------------------------------------------------------------- */

/* Computes F16 and BF16 in F32: each double of a block is exactly a float. */
static void axpy_half(ferry_dtype t, int64_t n, float alpha, const void *x, void *y)
{
    double xs[FERRY__BLOCK], ys[FERRY__BLOCK];

    for (int64_t at = 0; at < n; at += FERRY__BLOCK) {
        int count = block_size(n - at);

        ferry__block_load(t, x, at, 1, count, xs);
        ferry__block_load(t, y, at, 1, count, ys);
        for (int i = 0; i < count; i++)
            ys[i] = (double)((float)ys[i] + alpha * (float)xs[i]);
        ferry__block_store(t, y, at, 1, count, ys);
    }
}

static void axpy_float(int64_t n, float alpha, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

static void axpy_double(int64_t n, double alpha, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

int ferry__host_axpy(ferry_dtype t, int64_t n, double alpha, const void *x, void *y)
{
    if (!is_real(t))
        return FERRY_EUNSUPPORTED;
    if (alpha == 0.0)
        return 0;
    if (t == FERRY_F32)
        axpy_float(n, (float)alpha, x, y);
    else if (t == FERRY_F64)
        axpy_double(n, alpha, x, y);
    else
        axpy_half(t, n, (float)alpha, x, y);
    return 0;
}

int ferry__host_scal(ferry_dtype t, int64_t n, double alpha, void *x)
{
    double xs[FERRY__BLOCK];

    if (!is_real(t))
        return FERRY_EUNSUPPORTED;
    if (t != FERRY_F64)
        alpha = (double)(float)alpha;
    for (int64_t at = 0; at < n; at += FERRY__BLOCK) {
        int count = block_size(n - at);

        ferry__block_load(t, x, at, 1, count, xs);
        for (int i = 0; i < count; i++)
            xs[i] *= alpha;
        ferry__block_store(t, x, at, 1, count, xs);
    }
    return 0;
}

/* ---- fill, convert, load -------------------------------------------------------------------- */

static bool integer_holds(ferry_dtype t, double value)
{
    double whole = ferry__round_even(value);

    switch (t) {
    case FERRY_I8:
        return whole >= INT8_MIN && whole <= INT8_MAX;
    case FERRY_U8:
        return whole >= 0 && whole <= UINT8_MAX;
    case FERRY_I32:
        return whole >= INT32_MIN && whole <= INT32_MAX;
    case FERRY_I64:
        return whole >= -0x1p63 && whole < 0x1p63;
    case FERRY_U32:
        return whole >= 0 && whole <= UINT32_MAX;
    default:
        return true;
    }
}

int ferry__host_fill(ferry_dtype t, int64_t n, double value, void *y)
{
    double values[FERRY__BLOCK];

    if (!integer_holds(t, value))
        return FERRY_EOVERFLOW;
    for (int i = 0; i < FERRY__BLOCK; i++)
        values[i] = value;
    for (int64_t at = 0; at < n; at += FERRY__BLOCK)
        ferry__block_store(t, y, at, 1, block_size(n - at), values);
    return 0;
}

static size_t element_size(ferry_dtype t)
{
    switch (t) {
    case FERRY_I8:
    case FERRY_U8:
        return 1;
    case FERRY_F16:
    case FERRY_BF16:
        return 2;
    case FERRY_F32:
    case FERRY_I32:
    case FERRY_U32:
        return 4;
    case FERRY_F64:
    case FERRY_I64:
        return 8;
    }
    return 0;
}

int ferry__host_convert(int64_t n, ferry_dtype xt, const void *x, ferry_dtype yt, void *y)
{
    union {
        double real[FERRY__BLOCK];
        int64_t whole[FERRY__BLOCK];
    } block;

    if (xt == yt) {
        if (n > 0)
            memmove(y, x, (size_t)n * element_size(xt));
        return 0;
    }
    for (int64_t at = 0; at < n; at += FERRY__BLOCK) {
        int count = block_size(n - at);

        if (is_real(xt)) {
            ferry__block_load(xt, x, at, 1, count, block.real);
            ferry__block_store(yt, y, at, 1, count, block.real);
        } else {
            ferry__block_load_integer(xt, x, at, count, block.whole);
            ferry__block_store_integer(yt, y, at, count, block.whole);
        }
    }
    return 0;
}

double ferry__host_load(ferry_dtype t, const void *p, int64_t i)
{
    double value = 0;

    ferry__block_load(t, p, i, 1, 1, &value);
    return value;
}

/* ---- reductions ----------------------------------------------------------------------------- */

/* Uses several running sums, so that an addition need not wait for the previous one. */
static double dot_block(int n, const double *x, const double *y)
{
    double sums[ACCUMULATORS] = { 0 };
    int i = 0;

    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS)
        for (int k = 0; k < ACCUMULATORS; k++)
            sums[k] += x[i + k] * y[i + k];
    for (; i < n; i++)
        sums[0] += x[i] * y[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

static double asum_block(int n, const double *x, const double *same)
{
    double sums[ACCUMULATORS] = { 0 };
    int i = 0;

    (void)same;
    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS)
        for (int k = 0; k < ACCUMULATORS; k++)
            sums[k] += __builtin_fabs(x[i + k]);
    for (; i < n; i++)
        sums[0] += __builtin_fabs(x[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Adds up the results of `of` for each block of x and y; an operation on x alone gets x twice. */
static int sum_blocks(ferry_dtype t, int64_t n, const void *x, const void *y,
                      double (*of)(int n, const double *x, const double *y), double *out)
{
    double xs[FERRY__BLOCK], ys[FERRY__BLOCK];
    double sum = 0;

    if (!is_real(t))
        return FERRY_EUNSUPPORTED;
    for (int64_t at = 0; at < n; at += FERRY__BLOCK) {
        int count = block_size(n - at);

        ferry__block_load(t, x, at, 1, count, xs);
        if (y != x)
            ferry__block_load(t, y, at, 1, count, ys);
        sum += of(count, xs, y != x ? ys : xs);
    }
    *out = sum;
    return 0;
}

int ferry__host_dot(ferry_dtype t, int64_t n, const void *x, const void *y, double *out)
{
    return sum_blocks(t, n, x, y, dot_block, out);
}

int ferry__host_asum(ferry_dtype t, int64_t n, const void *x, double *out)
{
    return sum_blocks(t, n, x, x, asum_block, out);
}

int ferry__host_sumsq(ferry_dtype t, int64_t n, const void *x, double *out)
{
    return sum_blocks(t, n, x, x, dot_block, out);
}

/* ---- gemv, gemm ----------------------------------------------------------------------------- */

/* Stores y[first], y[first + stride] … = alpha·sums + beta·y, each rounded once. */
static void finish(ferry_dtype t, int n, double alpha, double *sums, double beta, void *y,
                   int64_t first, int64_t stride)
{
    double ys[FERRY__BLOCK] = { 0 };

    if (beta != 0.0)
        ferry__block_load(t, y, first, stride, n, ys);
    for (int i = 0; i < n; i++) {
        double product = alpha == 0.0 ? 0.0 : alpha * sums[i];

        sums[i] = beta == 0.0 ? product : product + beta * ys[i];
    }
    ferry__block_store(t, y, first, stride, n, sums);
}

/*
 * sums[j] = sum over i < inner of x[x0 + i·incx] · b[b0 + i·row + j·column], j < n: the kernel of
 * gemv and gemm, after their output was cut into pieces of a row.
 */
static void row_times_matrix(ferry_dtype t, int n, int64_t inner, const void *x, int64_t x0,
                             int64_t incx, const void *b, int64_t b0, int64_t row, int64_t column,
                             double *sums)
{
    double xs[FERRY__BLOCK], bs[FERRY__BLOCK];

    memset(sums, 0, (size_t)n * sizeof(*sums));
    for (int64_t at = 0; at < inner; at += FERRY__BLOCK) {
        int count = block_size(inner - at);

        ferry__block_load(t, x, x0 + at * incx, incx, count, xs);
        for (int i = 0; i < count; i++) {
            ferry__block_load(t, b, b0 + (at + i) * row, column, n, bs);
            for (int j = 0; j < n; j++)
                sums[j] += xs[i] * bs[j];
        }
    }
}

int ferry__host_gemv(ferry_dtype t, int trans, int64_t m, int64_t n, double alpha, const void *a,
                     int64_t lda, const void *x, int64_t incx, double beta, void *y, int64_t incy)
{
    bool stored = trans == FERRY_NO_TRANS;
    int64_t outer = stored ? m : n, inner = stored ? n : m;
    int64_t row = stored ? 1 : lda, column = stored ? lda : 1;
    int64_t x0 = incx < 0 ? (1 - inner) * incx : 0;
    int64_t y0 = incy < 0 ? (1 - outer) * incy : 0;
    double sums[FERRY__BLOCK];

    if (!is_real(t))
        return FERRY_EUNSUPPORTED;
    if (m == 0 || n == 0)
        return 0;
    for (int64_t at = 0; at < outer; at += FERRY__BLOCK) {
        int count = block_size(outer - at);

        row_times_matrix(t, count, alpha == 0.0 ? 0 : inner, x, x0, incx, a, at * column, row,
                         column, sums);
        finish(t, count, alpha, sums, beta, y, y0 + at * incy, incy);
    }
    return 0;
}

int ferry__host_gemm(ferry_dtype t, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                     int64_t ldc)
{
    int64_t a_row = ta == FERRY_NO_TRANS ? lda : 1, a_column = ta == FERRY_NO_TRANS ? 1 : lda;
    int64_t b_row = tb == FERRY_NO_TRANS ? ldb : 1, b_column = tb == FERRY_NO_TRANS ? 1 : ldb;
    double sums[FERRY__BLOCK];

    if (!is_real(t))
        return FERRY_EUNSUPPORTED;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t at = 0; at < n; at += FERRY__BLOCK) {
            int count = block_size(n - at);

            row_times_matrix(t, count, alpha == 0.0 ? 0 : k, a, i * a_row, a_column, b,
                             at * b_column, b_row, b_column, sums);
            finish(t, count, alpha, sums, beta, c, i * ldc + at, 1);
        }
    }
    return 0;
}
