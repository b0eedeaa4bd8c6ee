/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unary functions, and their derivatives: one source for OpenCL C, CUDA C++ and C, for float
 * and for double. FERRY_UNARY_… in ferry/op_params.h has the same numbers, which op/unary.c
 * compares.
 *
 *     X(NAME, number, gradient, value, slope)
 *
 * `value` is the function of x, `slope` its derivative at r, both with the parameters a, b and c.
 * They call mathematical functions by the names of dialect.h and write a fraction as NUMBER(0.5).
 * Longer formulas call functions that this file defines below, NAME(…).
 *
 * `gradient` defines r. INPUT: x. RESULT: y. EITHER: x, or y where y replaces x in memory. NONE:
 * the function has no derivative, and `slope` is NAN.
 *
 * The file has no guard: C code includes it for each type. It defines T, the type, NAME, which adds
 * the suffix of the type to a name, and MATH, which names a function of <math.h> for the type. The
 * sources of the kernels define none of them and get f32.
 */
#ifndef UNARY_LIST

#include "kernels/types.h"

/* clang-format off: one function per line */
#define UNARY_LIST(X)                                                                          \
    X(RELU, 0, EITHER, x > 0 ? x : a * x, r > 0 ? 1 : a)                                       \
    X(ELU, 1, RESULT, x > 0 ? x : a * expm11(x), r > 0 ? 1 : r + a)                            \
    X(SIGMOID, 2, RESULT, 1 / (1 + exp1(-x)), r * (1 - r))                                     \
    X(TANH, 3, RESULT, tanh1(x), 1 - r * r)                                                    \
    X(ABS, 4, INPUT, abs1(x), NAME(sign_of)(r))                                                \
    X(POWER, 5, INPUT, NAME(power_of)(b * x + c, a), NAME(power_slope)(r, a, b, c))            \
    X(EXP, 6, RESULT, exp1(a * x + b), a * r)                                                  \
    X(LOG, 7, INPUT, c * log1(a * x + b), c * a / (a * r + b))                                 \
    X(BNLL, 8, INPUT, x > 0 ? x + log1p1(exp1(-x)) : log1p1(exp1(x)), NAME(bnll_slope)(r))     \
    X(THRESHOLD, 9, NONE, x > a ? 1 : 0, NAN)                                                  \
    X(CLIP, 10, EITHER, x < a ? a : x > b ? b : x, r >= a && r <= b ? 1 : 0)                   \
    X(SWISH, 11, INPUT, x / (1 + exp1(-a * x)), NAME(swish_slope)(r, a))                       \
    X(MISH, 12, INPUT, x * tanh1(log1p1(exp1(x))), NAME(mish_slope)(r))                        \
    X(HARD_SWISH, 13, INPUT, NAME(hard_swish)(x, a * x + b), NAME(hard_swish_slope)(a * r, b)) \
    X(HARD_SIGMOID, 14, INPUT, NAME(hard_sigmoid)(a * x + b),                                  \
      NAME(hard_sigmoid_slope)(a * r + b, a))                                                  \
    X(GELU, 15, INPUT, x * NAME(normal)(x), NAME(gelu_slope)(r))                               \
    X(SOFTSIGN, 16, INPUT, x / (1 + abs1(x)), 1 / ((1 + abs1(r)) * (1 + abs1(r))))           \
    X(ROUND, 17, INPUT, NAME(rounded)(x, a, b, c), NAME(rounded_slope)(r, a, b, c))
/* clang-format on */

#define UNARY_NUMBER(name, number, gradient, value, slope) UNARY_##name = number,
enum unary_function { UNARY_LIST(UNARY_NUMBER) UNARY_FUNCTIONS };
#undef UNARY_NUMBER

#endif

#ifdef MATH

#define expm11(x)  MATH(expm1)(x)
#define exp1(x)    MATH(exp)(x)
#define log1(x)    MATH(log)(x)
#define log1p1(x)  MATH(log1p)(x)
#define tanh1(x)   MATH(tanh)(x)
#define pow1(x, y) MATH(pow)(x, y)
#define abs1(x)    MATH(fabs)(x)
#define rint1(x)   MATH(rint)(x)
#define erfc1(x)   MATH(erfc)(x)
#define NUMBER(x)  ((T)(x))
#ifndef INLINE
#define INLINE static inline
#endif

#else

#define T          f32
#define NAME(name) name
#define NUMBER(x)  x##f

#endif

INLINE T NAME(sign_of)(T x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

INLINE T NAME(power_of)(T x, T exponent)
{
    return exponent == 1 ? x : exponent == 2 ? x * x : pow1(x, exponent);
}

INLINE T NAME(power_slope)(T r, T a, T b, T c)
{
    T p = b * r + c;

    if (a * b == 0 || a == 1)
        return a * b;
    return a == 2 ? 2 * b * p : a * b * NAME(power_of)(p, a) / p;
}

INLINE T NAME(bnll_slope)(T r)
{
    T e = exp1(r < 50 ? r : 50);

    return e / (e + 1);
}

INLINE T NAME(swish_slope)(T r, T a)
{
    T s = 1 / (1 + exp1(-a * r));

    return s * (1 + a * r * (1 - s));
}

/* The slope of mish, from n / d = tanh(log(1 + e)); it is 1 where d * d could overflow. */
INLINE T NAME(mish_slope)(T r)
{
    T e = exp1(r), n = e * (e + 2), d = n + 2;

    return r > 20 ? 1 : n / d + 4 * r * e * (e + 1) / (d * d);
}

INLINE T NAME(hard_swish)(T x, T h)
{
    return h <= 0 ? 0 : h >= 1 ? x : x * h;
}

INLINE T NAME(hard_swish_slope)(T ar, T b)
{
    T h = ar + b;

    return h <= 0 ? 0 : h >= 1 ? 1 : ar + h;
}

INLINE T NAME(hard_sigmoid)(T h)
{
    return h < 0 ? 0 : h > 1 ? 1 : h;
}

INLINE T NAME(hard_sigmoid_slope)(T h, T a)
{
    return h > 0 && h < 1 ? a : 0;
}

/* The distribution function of the standard normal distribution. */
INLINE T NAME(normal)(T x)
{
    return NUMBER(0.5) * erfc1(x * NUMBER(-0.70710678118654752));
}

INLINE T NAME(gelu_slope)(T r)
{
    return NAME(normal)(r) + NUMBER(0.39894228040143268) * r * exp1(NUMBER(-0.5) * r * r);
}

INLINE T NAME(rounded)(T x, T a, T b, T c)
{
    T n = rint1(a * x);

    return (n < b ? b : n > c ? c : n) / a;
}

INLINE T NAME(rounded_slope)(T r, T a, T b, T c)
{
    T n = rint1(a * r);

    return n >= b && n <= c ? 1 : 0;
}

#define UNARY_VALUE(name, number, gradient, value, slope) \
    case number:                                          \
        return (value);
#define UNARY_SLOPE(name, number, gradient, value, slope) \
    case number:                                          \
        return (slope);

/* Function number `function` of x. NaN for a number that is not in the list. */
INLINE T NAME(unary_of)(i32 function, T x, T a, T b, T c)
{
    switch (function) {
        UNARY_LIST(UNARY_VALUE)
    default:
        return NAN;
    }
}

/*
 * The derivative of function number `function` at r, by which dy is multiplied; the list defines r.
 * NaN for a number that is not in the list.
 */
INLINE T NAME(slope_of)(i32 function, T r, T a, T b, T c)
{
    switch (function) {
        UNARY_LIST(UNARY_SLOPE)
    default:
        return NAN;
    }
}

#undef UNARY_VALUE
#undef UNARY_SLOPE
#undef NUMBER
#ifndef MATH
#undef T
#undef NAME
#endif
