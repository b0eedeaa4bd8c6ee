/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of one element, and the steps of an epilogue.
 */
#ifndef FERRY_KERNELS_STEP_H
#define FERRY_KERNELS_STEP_H

#include "kernels/args.h"
#include "kernels/dialect.h"

/* The numbers of FERRY_UNARY_… and FERRY_STEP_…, which never change. */
#define UNARY_RELU      0
#define UNARY_ELU       1
#define UNARY_SIGMOID   2
#define UNARY_TANH      3
#define UNARY_ABS       4
#define UNARY_POWER     5
#define UNARY_EXP       6
#define UNARY_LOG       7
#define UNARY_BNLL      8
#define UNARY_THRESHOLD 9
#define UNARY_CLIP      10
#define UNARY_SWISH     11
#define UNARY_FUNCTIONS 12

#define STEP_UNARY 0
#define STEP_ADD   1
#define STEP_SCALE 2
#define STEP_SHIFT 3
#define STEP_PRELU 4

INLINE f32 sign_of(f32 x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

INLINE f32 power_of(f32 x, f32 exponent)
{
    return exponent == 1.0f ? x : exponent == 2.0f ? x * x : pow1(x, exponent);
}

INLINE f32 unary_of(i32 function, f32 x, f32 a, f32 b, f32 c)
{
    switch (function) {
    case UNARY_RELU:
        return x > 0.0f ? x : a * x;
    case UNARY_ELU:
        return x > 0.0f ? x : a * expm11(x);
    case UNARY_SIGMOID:
        return 1.0f / (1.0f + exp1(-x));
    case UNARY_TANH:
        return tanh1(x);
    case UNARY_ABS:
        return abs1(x);
    case UNARY_POWER:
        return power_of(b * x + c, a);
    case UNARY_EXP:
        return exp1(a * x + b);
    case UNARY_LOG:
        return c * log1(a * x + b);
    case UNARY_BNLL:
        return x > 0.0f ? x + log1p1(exp1(-x)) : log1p1(exp1(x));
    case UNARY_THRESHOLD:
        return x > a ? 1.0f : 0.0f;
    case UNARY_CLIP:
        return x < a ? a : x > b ? b : x;
    default:
        return x / (1.0f + exp1(-a * x));
    }
}

/* A function of `n` elements side by side, in place. */
INLINE void unary_lanes(const struct step *s, f32 *v, i64 n)
{
    for (i64 i = 0; i < n; i++)
        v[i] = unary_of(s->function, v[i], s->a, s->b, s->c);
}

/* A step with an operand, whose element for v[0] is at u[0]. */
INLINE void operand_lanes(const struct step *s, GLOBAL const f32 *u, f32 *v, i64 n)
{
    for (i64 i = 0; i < n; i++) {
        f32 by = u[i * s->channel];

        v[i] = s->step == STEP_SCALE   ? v[i] * by
               : s->step == STEP_PRELU ? v[i] > 0.0f ? v[i] : v[i] * by
                                       : v[i] + s->scale * by;
    }
}

/* Whether a step can be done to whole vectors. */
INLINE bool is_wide(const struct step *s)
{
    return s->step == STEP_UNARY ? s->function == UNARY_RELU : s->channel == 1;
}

/* One that can; `u` is where its operand has the vector's first element. */
INLINE vec wide_step(const struct step *s, GLOBAL const f32 *u, vec v)
{
    if (s->step == STEP_UNARY)
        return vec_slope(v, vec_set(s->a));
    if (s->step == STEP_SCALE)
        return vec_multiply(v, vec_load(u));
    if (s->step == STEP_PRELU)
        return vec_slope(v, vec_load(u));
    return vec_multiply_add(vec_set(s->scale), vec_load(u), v);
}

#endif
