/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels of an output, and the epilogue steps before a pixel is stored. */
#ifndef FERRY_KERNELS_PIXEL_H
#define FERRY_KERNELS_PIXEL_H

#include "kernels/step.h"

/* Pixel number `pixel`: its image, and its position along three axes. */
struct pixel {
    i64 image, at[3];
};

INLINE STRUCT pixel pixel_of(const STRUCT window *w, i64 number)
{
    STRUCT pixel p;

    p.at[2] = number % w->out[2];
    number /= w->out[2];
    p.at[1] = number % w->out[1];
    number /= w->out[1];
    p.at[0] = number % w->out[0];
    p.image = number / w->out[0];
    return p;
}

/* The next pixel. */
INLINE STRUCT pixel pixel_next(const STRUCT window *w, STRUCT pixel p)
{
    p.at[2]++;
    if (p.at[2] < w->out[2])
        return p;
    p.at[2] = 0;
    p.at[1]++;
    if (p.at[1] < w->out[1])
        return p;
    p.at[1] = 0;
    p.at[0]++;
    if (p.at[0] < w->out[0])
        return p;
    p.at[0] = 0;
    p.image++;
    return p;
}

/* Whether `pixels` pixels from p on are in one row of y, with their windows inside the image. */
INLINE bool is_along(const STRUCT window *w, STRUCT pixel p, i64 pixels)
{
    i64 from = p.at[2] * w->stride[2] - w->pad[2];

    return p.at[2] + pixels <= w->out[2] && from >= 0 &&
           from + (pixels - 1) * w->stride[2] + (w->size[2] - 1) * w->dilation[2] < w->in[2];
}

/* A step's operand for output `output` of a pixel. */
INLINE GLOBAL const f32 *operand_at(const STRUCT step *s, GLOBAL const f32 *u, STRUCT pixel p,
                                    i64 group_at, i64 output)
{
    return u + group_at * s->group + p.image * s->image + output * s->channel +
           p.at[0] * s->spatial[0] + p.at[1] * s->spatial[1] + p.at[2] * s->spatial[2];
}

/* The buffer of a step's operand; any buffer if it has none. */
#define STEP_OPERAND(s) \
    ((s)->buffer == 3 ? AT(const f32, 3) : (s)->buffer == 4 ? AT(const f32, 4) : AT(const f32, 5))

/* Stores `n` outputs to y, `stride` apart: the vectors of v from number `first` on. */
#define STORE(y, stride, v, first, n, whole, vectors)       \
    if ((whole) && (stride) == 1) {                         \
        UNROLLED for (i32 l = 0; l < (vectors); l++)        \
        {                                                   \
            vec_store((y) + l * VEC, (v)[(first) + l]);     \
        }                                                   \
    } else {                                                \
        for (i64 o = 0; o < (n); o++)                       \
            (y)[o * (stride)] = LANE(v, (first) * VEC + o); \
    }

/* One element of an image. */
struct spot {
    i64 image, channel, at[3];
};

INLINE STRUCT spot spot_of(i64 channels, const i64 *along, i64 axes, bool last, i64 i)
{
    STRUCT spot s;

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

/* The offset of a spot. */
INLINE i64 spot_place(STRUCT spot s, const i64 *stride, i64 axes)
{
    i64 offset = s.image * stride[0] + s.channel * stride[1];

    for (i64 k = 0; k < axes; k++)
        offset += s.at[k] * stride[2 + k];
    return offset;
}

/* The elements i of a group's `piece` of `all` that belong to this item. */
#define EACH_OF(i, piece, all) \
    for (i64 i = group() * (piece) + item; i < (group() + 1) * (piece) && i < (all); i += GROUP)

#endif
