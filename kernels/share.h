/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contribution of an element of dy to the gradient of a broadcast operand.
 */
#ifndef FERRY_KERNELS_SHARE_H
#define FERRY_KERNELS_SHARE_H

#include "kernels/args.h"
#include "kernels/step.h"
#include "kernels/sum.h"

INLINE f32 share_of(i32 function, f32 scale, f32 dy, f32 x, f32 u)
{
    switch (function) {
    case SHARE_SCALED:
        return scale * dy;
    case SHARE_PRODUCT:
        return x * dy;
    case SHARE_MAX:
        return x > u ? 0.0f : dy;
    default:
        return x > 0.0f ? 0.0f : x * dy;
    }
}

#endif
