/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements one by one, of type T: elementwise.c includes this once for each, having defined T,
 * NAME and MATH, which names a function of <math.h> for T. No guard, therefore.
 */

static inline T NAME(bnll)(T x)
{
    return x > 0 ? x + MATH(log1p)(MATH(exp)(-x)) : MATH(log1p)(MATH(exp)(x));
}

static T NAME(power)(T x, const struct unary *u)
{
    T base = (T)u->b * x + (T)u->c;

    if (u->a == 0)
        return 1;
    if (u->a == 1)
        return base;
    return u->a == 2 ? base * base : MATH(pow)(base, (T)u->a);
}

static T NAME(unary_one)(const struct unary *u, T x)
{
    const T a = (T)u->a, b = (T)u->b, c = (T)u->c;

    switch (u->function) {
    case FERRY_UNARY_RELU:
        return x > 0 ? x : a * x;
    case FERRY_UNARY_ELU:
        return x > 0 ? x : a * MATH(expm1)(x);
    case FERRY_UNARY_SIGMOID:
        return 1 / (1 + MATH(exp)(-x));
    case FERRY_UNARY_TANH:
        return MATH(tanh)(x);
    case FERRY_UNARY_ABS:
        return MATH(fabs)(x);
    case FERRY_UNARY_POWER:
        return NAME(power)(x, u);
    case FERRY_UNARY_EXP:
        return MATH(exp)(a * x + b);
    case FERRY_UNARY_LOG:
        return c * MATH(log)(a * x + b);
    case FERRY_UNARY_BNLL:
        return NAME(bnll)(x);
    case FERRY_UNARY_THRESHOLD:
        return x > a ? 1 : 0;
    case FERRY_UNARY_CLIP:
        return x < a ? a : x > b ? b : x;
    default: /* FERRY_UNARY_SWISH */
        return x / (1 + MATH(exp)(-a * x));
    }
}

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
        y[i * u->step[0]] = NAME(unary_one)(u, x[i * u->step[1]]);
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
