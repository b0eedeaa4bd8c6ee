/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes the arithmetic entries by plain loops. F16 and BF16 are computed in F32 or wider and
 * rounded once; sums are accumulated in double.
 */
#include "sim.h"

#include <math.h>
#include <string.h>

/* ---- element by element ---- */

static void axpy(const struct sim_op *op)
{
    float alpha = (float)op->alpha;

    if (op->dtype == FERRY_F64) {
        const double *x = (const double *)(const void *)op->x;
        double *y = (double *)(void *)op->y;

        for (int64_t i = 0; i < op->n; i++)
            y[i] += op->alpha * x[i];
    } else if (op->dtype == FERRY_F32) {
        const float *x = (const float *)(const void *)op->x;
        float *y = (float *)(void *)op->y;

        for (int64_t i = 0; i < op->n; i++)
            y[i] += alpha * x[i];
    } else {
        for (int64_t i = 0; i < op->n; i++) {
            float x = (float)sim_element_get(op->dtype, op->x, i);
            float y = (float)sim_element_get(op->dtype, op->y, i);

            sim_element_set(op->dtype, op->y, i, (double)(y + alpha * x));
        }
    }
}

static void scal(const struct sim_op *op)
{
    float alpha = (float)op->alpha;

    if (op->dtype == FERRY_F64) {
        double *x = (double *)(void *)op->y;

        for (int64_t i = 0; i < op->n; i++)
            x[i] *= op->alpha;
    } else if (op->dtype == FERRY_F32) {
        float *x = (float *)(void *)op->y;

        for (int64_t i = 0; i < op->n; i++)
            x[i] *= alpha;
    } else {
        for (int64_t i = 0; i < op->n; i++)
            sim_element_set(op->dtype, op->y, i,
                            (double)((float)sim_element_get(op->dtype, op->y, i) * alpha));
    }
}

static void fill(const struct sim_op *op)
{
    size_t size = (size_t)sim_element_size(op->dtype);

    sim_element_set(op->dtype, op->y, 0, op->alpha);
    for (int64_t i = 1; i < op->n; i++)
        memcpy(op->y + (size_t)i * size, op->y, size);
}

static void convert(const struct sim_op *op)
{
    if (op->dtype == op->dtype2) {
        memcpy(op->y, op->x, (size_t)op->n * (size_t)sim_element_size(op->dtype));
        return;
    }
    for (int64_t i = 0; i < op->n; i++)
        sim_element_convert(op->dtype, op->x, op->dtype2, op->y, i);
}

/* ---- reductions ---- */

static double term(uint32_t op, double x, double y)
{
    return op == FERRY_OP_ASUM ? fabs(x) : op == FERRY_OP_SUMSQ ? x * x : x * y;
}

static double sum_f32(const struct sim_op *op)
{
    const float *x = (const float *)(const void *)op->x;
    const float *y = (const float *)(const void *)(op->a ? op->a : op->x);
    double sum = 0;

    for (int64_t i = 0; i < op->n; i++)
        sum += term(op->op, (double)x[i], (double)y[i]);
    return sum;
}

static void reduce(const struct sim_op *op)
{
    const unsigned char *other = op->a ? op->a : op->x;
    double sum = 0;

    if (op->dtype == FERRY_F32)
        sum = sum_f32(op);
    else
        for (int64_t i = 0; i < op->n; i++)
            sum += term(op->op, sim_element_get(op->dtype, op->x, i),
                        sim_element_get(op->dtype, other, i));
    sim_element_set(op->dtype2, op->y, 0, sum);
}

/* ---- matrices ---- */

/* Element (row, column) of op(A). */
static double at(const struct sim_op *op, const unsigned char *matrix, bool trans, int64_t ld,
                 int64_t row, int64_t column)
{
    return sim_element_get(op->dtype, matrix, trans ? column * ld + row : row * ld + column);
}

/* Stores beta·old + alpha·sum; with beta 0 the old value is not read. */
static void store(const struct sim_op *op, int64_t index, double sum)
{
    double value = op->alpha * sum;

    if (op->beta != 0)
        value += op->beta * sim_element_get(op->dtype, op->y, index);
    if (op->dtype == FERRY_F16 || op->dtype == FERRY_BF16)
        value = (double)(float)value;
    sim_element_set(op->dtype, op->y, index, value);
}

/* The index of element i of a vector of n; a vector with a negative stride starts at its end. */
static int64_t strided(int64_t i, int64_t n, int64_t inc)
{
    return inc > 0 ? i * inc : (i - n + 1) * inc;
}

static void gemv(const struct sim_op *op)
{
    int64_t rows = op->trans_a ? op->n : op->m;
    int64_t columns = op->trans_a ? op->m : op->n;

    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;

        for (int64_t j = 0; op->alpha != 0 && j < columns; j++)
            sum += at(op, op->a, op->trans_a, op->lda, i, j) *
                   sim_element_get(op->dtype, op->x, strided(j, columns, op->incx));
        store(op, strided(i, rows, op->incy), sum);
    }
}

static void gemm(const struct sim_op *op)
{
    for (int64_t i = 0; i < op->m; i++) {
        for (int64_t j = 0; j < op->n; j++) {
            double sum = 0;

            for (int64_t p = 0; op->alpha != 0 && p < op->k; p++)
                sum += at(op, op->a, op->trans_a, op->lda, i, p) *
                       at(op, op->x, op->trans_b, op->ldb, p, j);
            store(op, i * op->ldc + j, sum);
        }
    }
}

void sim_op_run(const struct sim_op *op)
{
    static void (*const kernels[FERRY_OP_COUNT])(const struct sim_op *) = {
        [FERRY_OP_AXPY] = axpy,   [FERRY_OP_SCAL] = scal,       [FERRY_OP_COPY] = convert,
        [FERRY_OP_FILL] = fill,   [FERRY_OP_CONVERT] = convert, [FERRY_OP_DOT] = reduce,
        [FERRY_OP_ASUM] = reduce, [FERRY_OP_SUMSQ] = reduce,    [FERRY_OP_GEMV] = gemv,
        [FERRY_OP_GEMM] = gemm,
    };

    kernels[op->op](op);
}
