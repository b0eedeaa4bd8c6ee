/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution of each channel by itself: one line of its output at a time, by the loops of an
 * instruction set.
 */
#ifndef FERRY_CPU_OP_DEPTHWISE_H
#define FERRY_CPU_OP_DEPTHWISE_H

#include "tile.h"

struct cpu_window;

struct cpu_depthwise {
    const struct cpu_window *window;
    const float *x, *w;
    float *y;
    int64_t w_tap, w_channel; /* strides of the weights; taps one after the other */
    const float *add;         /* what the store adds lies as y does */
    struct cpu_store store;
    int64_t inner[2]; /* pixels of a line that see no padding at its ends: first, behind the last */
};

/* A line, and what of the window's first two axes sees the image. */
struct cpu_line {
    const float *x; /* what tap (0, 0, 0) of pixel 0 sees, were there no padding at all */
    int64_t y;      /* of pixel 0, channel 0 */
    int64_t first[2], end[2];
};

#endif
