/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pixels of an output, and what is done to one before it is stored.
 */
#ifndef FERRY_KERNELS_PIXEL_H
#define FERRY_KERNELS_PIXEL_H

#include "kernels/step.h"

/* Pixel number `pixel`: its image, and its place along three axes. */
struct pixel {
    i64 image, at[3];
};

INLINE struct pixel pixel_of(const struct window *w, i64 number)
{
    struct pixel p;

    for (i64 i = 2; i >= 0; i--) {
        p.at[i] = number % w->out[i];
        number /= w->out[i];
    }
    p.image = number;
    return p;
}

/* What is done to the `n` outputs of a pixel from `output` on before they are stored. */
INLINE void finish(const struct step *s, GLOBAL const f32 *u, struct pixel p, i64 group_at,
                   i64 output, f32 *v, i64 n)
{
    if (s->step == STEP_UNARY) {
        unary_lanes(s, v, n);
        return;
    }
    u += group_at * s->group + p.image * s->image + output * s->channel;
    for (i64 i = 0; i < 3; i++)
        u += p.at[i] * s->spatial[i];
    operand_lanes(s, u, v, n);
}

/* The buffer of a step's operand; any for one that has none. */
#define STEP_OPERAND(s) \
    ((s)->buffer == 3 ? AT(const f32, 3) : (s)->buffer == 4 ? AT(const f32, 4) : AT(const f32, 5))

/* One element of an image: element `i` in the order in which they lie. */
struct spot {
    i64 image, channel, at[3];
};

INLINE struct spot spot_of(i64 channels, const i64 *along, i64 axes, bool last, i64 i)
{
    struct spot s;

    s.channel = 0;
    if (last) {
        s.channel = i % channels;
        i /= channels;
    }
    for (i64 k = axes - 1; k >= 0; k--) {
        s.at[k] = i % along[k];
        i /= along[k];
    }
    if (!last) {
        s.channel = i % channels;
        i /= channels;
    }
    s.image = i;
    return s;
}

/* Where it is. */
INLINE i64 spot_place(struct spot s, const i64 *stride, i64 axes)
{
    i64 offset = s.image * stride[0] + s.channel * stride[1];

    for (i64 k = 0; k < axes; k++)
        offset += s.at[k] * stride[2 + k];
    return offset;
}

/* The elements i of a group's `piece` of `all` that are this item's. */
#define EACH_OF(i, piece, all) \
    for (i64 i = group() * (piece) + item; i < (group() + 1) * (piece) && i < (all); i += GROUP)

#endif
