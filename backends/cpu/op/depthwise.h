/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution of each channel separately: one line of its output at a time, by the loops of an
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
    int64_t w_tap, w_channel; /* strides of the weights; taps are consecutive */
    const float *add;         /* the added operand, with y's layout */
    struct cpu_store store;
    int64_t inner[2]; /* pixels of a line whose windows are inside the image: first, end */
};

/* A line, and the range of the window's first two axes that is inside the image. */
struct cpu_line {
    const float *x; /* the element under tap (0, 0, 0) of pixel 0, ignoring padding */
    int64_t y;      /* of pixel 0, channel 0 */
    int64_t first[2], end[2];
};

#endif
