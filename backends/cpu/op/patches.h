/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution's input as the rows of a matrix, which is never there as a whole: a row a pixel of
 * the output, whose elements are what the window sees of the input, tap by tap (the outermost axis
 * first), and of each tap all channels of the group.
 */
#ifndef FERRY_CPU_OP_PATCHES_H
#define FERRY_CPU_OP_PATCHES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_window;

struct cpu_patches {
    const struct cpu_window *window;
    const float *x;   /* the group's first channel of image 0 */
    int64_t channels; /* of a group */
    bool is_transposed;
    bool is_dense; /* channels side by side, pixels of a row too, taps without dilation */
};

#endif
