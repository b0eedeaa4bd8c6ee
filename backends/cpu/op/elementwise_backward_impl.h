/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gradients of elements one by one, of type T: elementwise_backward.c includes this once for each,
 * having defined T, NAME and MATH, as elementwise_impl.h has them. No guard, therefore.
 */

static inline T NAME(sign)(T x)
{
    return (T)((x > 0) - (x < 0));
}

static T NAME(power_slope)(T r, T a, T b, T c)
{
    T p = b * r + c;

    if (a * b == 0 || a == 1)
        return a * b;
    return a == 2 ? 2 * b * p : a * b * MATH(pow)(p, a) / p;
}

static T NAME(slope)(const ferry_op_params *params, T r)
{
    const T a = (T)params->unary.a, b = (T)params->unary.b, c = (T)params->unary.c;
    T e;

    switch (params->unary.function) {
    case FERRY_UNARY_RELU:
        return r > 0 ? 1 : a;
    case FERRY_UNARY_ELU:
        return r > 0 ? 1 : r + a;
    case FERRY_UNARY_SIGMOID:
        return r * (1 - r);
    case FERRY_UNARY_TANH:
        return 1 - r * r;
    case FERRY_UNARY_ABS:
        return NAME(sign)(r);
    case FERRY_UNARY_POWER:
        return NAME(power_slope)(r, a, b, c);
    case FERRY_UNARY_EXP:
        return a * r;
    case FERRY_UNARY_LOG:
        return c * a / (a * r + b);
    case FERRY_UNARY_BNLL:
        e = MATH(exp)(r < 50 ? r : 50);
        return e / (e + 1);
    case FERRY_UNARY_CLIP:
        return r >= a && r <= b ? 1 : 0;
    default: /* FERRY_UNARY_SWISH */
        e = 1 / (1 + MATH(exp)(-a * r));
        return e * (1 + a * r * (1 - e));
    }
}

#define POINTERS                                                    \
    const struct slopes *s = arg;                                   \
    const ferry_op_params *params = &s->op->op.params;              \
    const T *dy = (const T *)s->in[0] + offset[1];                  \
    const T *x = s->in[1] ? (const T *)s->in[1] + offset[2] : NULL; \
    T *dx = (T *)s->dx + offset[0]

static void NAME(unary_row)(void *arg, const int64_t *offset, int64_t n)
{
    POINTERS;

    for (int64_t i = 0; i < n; i++)
        dx[i * s->step[0]] = dy[i * s->step[1]] * NAME(slope)(params, x[i * s->step[2]]);
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
            y *= NAME(sign)(x[i * s->step[2]]);
        dx[i * s->step[0]] = y;
    }
}

#undef POINTERS
