/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements one by one, of type T: elementwise.c includes this once for each type, after defining T,
 * NAME and MATH, which names a function of <math.h> for T. No include guard.
 */

#include "kernels/unary_impl.h"

static T NAME(binary_one)(const struct binary *f, T x, T u, T v)
{
    switch (f->function) {
    case FERRY_BINARY_SUM:
        return (T)f->a * x + (T)f->b * u;
    case FERRY_BINARY_PRODUCT:
        return x * u;
    case FERRY_BINARY_MAX:
        return x > u ? x : u;
    case FERRY_BINARY_SCALE:
        return x * u + v;
    case FERRY_BINARY_PRELU:
        return x > 0 ? x : u * x;
    case FERRY_BINARY_NORMALISE:
        return (x - u) * v;
    default: /* FERRY_BINARY_QUOTIENT */
        return x / u;
    }
}

static void NAME(unary_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct unary *u = arg;
    const T *x = (const T *)u->x + offset[1];
    T *y = (T *)u->y + offset[0];

    for (int64_t i = 0; i < n; i++)
        y[i * u->step[0]] = NAME(unary_of)((i32)u->function, x[i * u->step[1]], (T)u->a, (T)u->b,
                                           (T)u->c);
}

static void NAME(binary_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct binary *f = arg;
    const T *x = (const T *)f->in[0] + offset[1], *u = (const T *)f->in[1] + offset[2];
    const T *v = f->in[2] ? (const T *)f->in[2] + offset[3] : NULL;
    T *y = (T *)f->y + offset[0];

    for (int64_t i = 0; i < n; i++)
        y[i * f->step[0]] = NAME(binary_one)(f, x[i * f->step[1]], u[i * f->step[2]],
                                             v ? v[i * f->step[3]] : (T)f->v);
}
