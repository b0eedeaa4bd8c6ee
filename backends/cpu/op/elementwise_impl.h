/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements one by one, of type T: elementwise.c includes this once for each type, after defining T,
 * NAME and MATH, which names a function of <math.h> for T. No include guard.
 */

#include "kernels/unary_impl.h"

static void NAME(unary_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct unary *u = arg;
    const T *x = (const T *)u->x + offset[1];
    T *y = (T *)u->y + offset[0];

    for (int64_t i = 0; i < n; i++)
        y[i * u->step[0]] =
            NAME(unary_of)((i32)u->function, x[i * u->step[1]], (T)u->a, (T)u->b, (T)u->c);
}

/* Computes a row; the function is selected once for the row. */
#define ROW(expression)                                 \
    for (int64_t i = 0; i < n; i++) {                   \
        T a = x[i * f->step[1]], b = u[i * f->step[2]]; \
        T c = v ? v[i * f->step[3]] : (T)f->v;          \
                                                        \
        (void)c;                                        \
        y[i * f->step[0]] = expression;                 \
    }                                                   \
    break

static void NAME(binary_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct binary *f = arg;
    const T *x = (const T *)f->in[0] + offset[1], *u = (const T *)f->in[1] + offset[2];
    const T *v = f->in[2] ? (const T *)f->in[2] + offset[3] : NULL;
    const T p = (T)f->a, q = (T)f->b;
    T *y = (T *)f->y + offset[0];

    switch (f->function) {
    case FERRY_BINARY_SUM:
        ROW(p * a + q * b);
    case FERRY_BINARY_PRODUCT:
        ROW(a * b);
    case FERRY_BINARY_MAX:
        ROW(a > b ? a : b);
    case FERRY_BINARY_SCALE:
        ROW(a * b + c);
    case FERRY_BINARY_PRELU:
        ROW(a > 0 ? a : b * a);
    case FERRY_BINARY_NORMALISE:
        ROW((a - b) * c);
    default: /* FERRY_BINARY_QUOTIENT */
        ROW(a / b);
    }
}

#undef ROW
