/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of an epilogue.
 */
#ifndef FERRY_KERNELS_STEP_H
#define FERRY_KERNELS_STEP_H

#include "kernels/args.h"
#include "kernels/dialect.h"
#include "kernels/unary_impl.h"

/* Applies a step with an operand, whose element for v is `by`. */
INLINE f32 operand_step(const STRUCT step *s, f32 by, f32 v)
{
    return s->step == STEP_SCALE   ? v * by
           : s->step == STEP_PRELU ? v > 0.0f ? v : v * by
                                   : v + s->scale * by;
}

/*
 * Applies a step to `n` adjacent elements in place. `at(i)` is element i, and its operand is
 * channel i of u.
 */
#define STEP_LANES(s, u, n, at)                                             \
    if ((s)->step == STEP_UNARY) {                                          \
        for (i64 i = 0; i < (n); i++)                                       \
            at(i) = unary_of((s)->function, at(i), (s)->a, (s)->b, (s)->c); \
    } else {                                                                \
        GLOBAL const f32 *operand = u;                                      \
                                                                            \
        for (i64 i = 0; i < (n); i++)                                       \
            at(i) = operand_step(s, operand[i * (s)->channel], at(i));      \
    }

/* Whether a step can be applied to whole vectors. */
INLINE bool is_wide(const STRUCT step *s)
{
    return s->step == STEP_UNARY ? s->function == UNARY_RELU : s->channel == 1;
}

/* Applies such a step; `u` is the operand's element for the first lane. */
INLINE vec wide_step(const STRUCT step *s, GLOBAL const f32 *u, vec v)
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
