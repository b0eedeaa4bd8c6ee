/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution's input as the rows of a matrix, which is never stored as a whole: one row per
 * pixel of the output, whose elements are the input under the window, tap by tap (the outermost
 * axis first), and all channels of the group for each tap.
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
    bool is_dense; /* channels and pixels of a row are contiguous, taps without dilation */
};

#endif
