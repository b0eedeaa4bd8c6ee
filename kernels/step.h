/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of an epilogue.
 */
#ifndef FERRY_KERNELS_STEP_H
#define FERRY_KERNELS_STEP_H

#include "kernels/args.h"
#include "kernels/dialect.h"
#include "kernels/unary_impl.h"

/* The values of FERRY_STEP_…, which never change. */
#define STEP_UNARY 0
#define STEP_ADD   1
#define STEP_SCALE 2
#define STEP_SHIFT 3
#define STEP_PRELU 4

/* A function of `n` adjacent elements, in place. */
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

/* Whether a step can be applied to whole vectors. */
INLINE bool is_wide(const struct step *s)
{
    return s->step == STEP_UNARY ? s->function == UNARY_RELU : s->channel == 1;
}

/* Such a step; `u` is the operand's element for the vector's first. */
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
