/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of the loops over rows of each instruction set (loops.h). */
#ifndef FERRY_CPU_OP_ROWS_H
#define FERRY_CPU_OP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A row of elements that are contiguous in y. The elements of an input are contiguous, step 1, or
 * all the same, step 0.
 */
struct cpu_binary_row {
    uint32_t function; /* FERRY_BINARY_… */
    float a, b;
    const float *x, *u, *v; /* v may be NULL, which means 0 */
    int64_t x_step, u_step, v_step;
    float *y;
};

/* One window of POOL with all channels, which are contiguous. */
struct cpu_pool_window {
    const void *x;             /* the first element of the window */
    int64_t count[3], step[3]; /* for each axis: the number of elements, and their distance */
    int64_t channels;
    bool is_average;
    float divisor; /* 0: the window is empty */
    void *y;
    int64_t windows, next, y_next; /* the number of windows of a line with equal extents; the
                                    * distances from one to the next in x and y */
};

/*
 * Windows of some lines of POOL that are contiguous in y, none of which is clipped along its line.
 * The mask of a window is the index of an element of its plane, below 2^24, or −1; the mask may be
 * NULL.
 */
struct cpu_pool_lines {
    int64_t lines, windows; /* the number of lines, and of windows of a line */
    int64_t rows, columns;  /* the size of a window */
    const float *x;         /* the first element of the first window */
    int64_t row, step;      /* the distance from a row to the next; and from a window to the next, 1
                             * or 2 */
    int64_t number, width;  /* the index of the first element, and the length of a row of the
                             * plane */
    int64_t down;           /* the number of rows from a line's windows to those of the next line */
    bool is_average, mask_is_i32;
    float divisor; /* 0: the window is empty */
    float *y;
    void *mask;
    int64_t y_line, mask_line;
};

/*
 * Such windows of POOL backward, with size 2 and stride 2, which do not overlap: dx is overwritten.
 */
struct cpu_given_lines {
    int64_t lines, windows, rows;
    const float *dy;
    const void *mask;
    int64_t dy_line, mask_line;
    bool mask_is_i32;
    int64_t number, width, down;
    float *dx; /* with contiguous rows */
};

/* A pixel of LRN across contiguous channels, with a beta of 3/4. x is not y. */
struct cpu_lrn_pixel {
    const float *x;
    float *y;
    int64_t channels, half; /* half: the number of neighbouring channels on either side */
    float k, alpha;         /* k and alpha of the sum itself: alpha is already divided by the
                             * size */
};

#define LRN_BLOCK 256 /* the maximum number of pixels of a block */
#define LRN_RING  16  /* backward: a bound of the number of channels of a sum */

/* Contiguous pixels; the distance between channels is given; the scale may be NULL. */
struct cpu_lrn_block {
    const float *x;
    float *y, *scale;
    int64_t x_channel, y_channel, scale_channel;
    int64_t pixels, channels, half;
    float k, alpha;
};

/* A block of LRN backward: dy, x, y and scale. `half` is below LRN_RING / 2. */
struct cpu_lrn_back {
    const float *in[4];
    float *dx;
    int64_t in_channel[4], dx_channel;
    int64_t pixels, channels, half;
    float factor; /* the factor of x and the sum */
};

#endif
