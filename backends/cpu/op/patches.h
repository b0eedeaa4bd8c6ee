/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution's input as the rows of a matrix that is never stored as a whole. There is one row
 * per pixel of the output. Its elements are the input under the window, tap by tap (the outermost
 * axis first), with all channels of the group for each tap.
 */
#ifndef FERRY_CPU_OP_PATCHES_H
#define FERRY_CPU_OP_PATCHES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_window;

struct cpu_patches {
    const struct cpu_window *window;
    const float *x;   /* the group's first channel of image 0 */
    int64_t channels; /* the number of channels of a group */
    bool is_transposed;
    bool is_dense; /* channels, and pixels of a row, are contiguous, and taps have no dilation */
};

#endif
