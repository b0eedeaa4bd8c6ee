/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gradients of elements one by one, of type T: elementwise_backward.c includes this once for each
 * type, after defining T, NAME and MATH as for elementwise_impl.h. No include guard.
 */

#include "kernels/unary_impl.h"

#define POINTERS                                                    \
    const struct slopes *s = arg;                                   \
    const ferry_op_params *params = &s->op->op.params;              \
    const T *dy = (const T *)s->in[0] + offset[1];                  \
    const T *x = s->in[1] ? (const T *)s->in[1] + offset[2] : NULL; \
    T *dx = (T *)s->dx + offset[0]

static void NAME(unary_row)(void *arg, const int64_t *offset, int64_t n)
{
    POINTERS;
    const T a = (T)params->unary.a, b = (T)params->unary.b, c = (T)params->unary.c;
    const i32 function = (i32)params->unary.function;

    for (int64_t i = 0; i < n; i++)
        dx[i * s->step[0]] =
            dy[i * s->step[1]] * NAME(slope_of)(function, x[i * s->step[2]], a, b, c);
}

static void NAME(binary_row)(void *arg, const int64_t *offset, int64_t n)
{
    POINTERS;
    const T *u = (const T *)s->in[2] + offset[3];
    bool is_max = params->binary.function == FERRY_BINARY_MAX;

    for (int64_t i = 0; i < n; i++) {
        T y = dy[i * s->step[1]], from = x[i * s->step[2]], with = u[i * s->step[3]];

        if (is_max)
            dx[i * s->step[0]] = from > with ? y : 0;
        else
            dx[i * s->step[0]] = from > 0 ? y : with * y;
    }
}

static void NAME(reduce_row)(void *arg, const int64_t *offset, int64_t n)
{
    POINTERS;
    const T scale = (T)params->reduce.scale;

    for (int64_t i = 0; i < n; i++) {
        T y = scale * dy[i * s->step[1]];

        if (params->reduce.function == FERRY_REDUCE_SUMSQ)
            y *= 2 * x[i * s->step[2]];
        else if (params->reduce.function == FERRY_REDUCE_ASUM)
            y *= NAME(sign_of)(x[i * s->step[2]]);
        dx[i * s->step[0]] = y;
    }
}

#undef POINTERS
