/* SPDX-License-Identifier: BSD-2-Clause */
/* The source positions of resized images, and LRN's power. */
#ifndef FERRY_KERNELS_SAMPLE_H
#define FERRY_KERNELS_SAMPLE_H

#include "kernels/pixel.h"

/* s to the power of −beta. A beta of 0.75, the usual value, needs no pow. */
INLINE f32 damped(f32 s, f32 beta)
{
    return beta == 0.75f ? 1.0f / (sqrt1(s) * sqrt1(sqrt1(s))) : pow1(s, -beta);
}

#define RESIZE_ALIGN_CORNERS 1
#define RESIZE_ASYMMETRIC    2

/* The source position of output i is over / under. */
struct sample {
    i64 over, under;
};

INLINE STRUCT sample sample_of(i32 sampling, i64 i, i64 in, i64 out)
{
    STRUCT sample s;

    s.over = sampling == RESIZE_ALIGN_CORNERS ? i * (in - 1)
             : sampling == RESIZE_ASYMMETRIC  ? i * in
                                              : (2 * i + 1) * in - out;
    s.under = sampling == RESIZE_ALIGN_CORNERS ? out - 1
              : sampling == RESIZE_ASYMMETRIC  ? out
                                               : 2 * out;
    if (s.under == 0) {
        s.over = 0;
        s.under = 1;
    }
    return s;
}

INLINE i64 floor_of(i64 over, i64 under)
{
    return over >= 0 ? over / under : -((-over + under - 1) / under);
}

INLINE i64 clamped(i64 i, i64 in)
{
    return i < 0 ? 0 : i > in - 1 ? in - 1 : i;
}

#endif
