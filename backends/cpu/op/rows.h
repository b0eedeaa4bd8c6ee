/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of the loops over rows of each instruction set (loops.h). */
#ifndef FERRY_CPU_OP_ROWS_H
#define FERRY_CPU_OP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Elements that are contiguous in y; in an input contiguous, or one for all: a step of 1 or 0. */
struct cpu_binary_row {
    uint32_t function; /* FERRY_BINARY_… */
    float a, b;
    const float *x, *u, *v; /* v may be NULL: 0 */
    int64_t x_step, u_step, v_step;
    float *y;
};

/* One window of all channels, which are contiguous. */
struct cpu_pool_window {
    const float *x;            /* its first element */
    int64_t count[3], step[3]; /* elements of each axis, and their distance */
    int64_t channels;
    bool is_average;
    float divisor; /* 0: the window is empty */
    float *y;
    int64_t windows, next, y_next; /* of a line, with equal extents; from one to the next */
};

/*
 * Windows of some lines of POOL, contiguous in y, none of which is clipped along its line. The mask
 * of each is the index of an element of its plane, below 2^24, or −1; the mask may be NULL.
 */
struct cpu_pool_lines {
    int64_t lines, windows; /* of each */
    int64_t rows, columns;  /* of a window */
    const float *x;         /* the first element of the first window */
    int64_t row, step;      /* from a row to the next, and from a window: 1 or 2 */
    int64_t number, width;  /* the index of that element, and the length of a row of the plane */
    int64_t down;           /* from a line's windows to the next one's, in rows */
    bool is_average, mask_is_i32;
    float divisor; /* 0: the window is empty */
    float *y;
    void *mask;
    int64_t y_line, mask_line;
};

/* Such windows of POOL backward, size 2 and stride 2, which do not overlap: dx is written. */
struct cpu_given_lines {
    int64_t lines, windows, rows;
    const float *dy;
    const void *mask;
    int64_t dy_line, mask_line;
    bool mask_is_i32;
    int64_t number, width, down;
    float *dx; /* rows are contiguous */
};

/* A pixel of LRN across contiguous channels, with a beta of 3/4. x is not y. */
struct cpu_lrn_pixel {
    const float *x;
    float *y;
    int64_t channels, half; /* channels on either side that count */
    float k, alpha;         /* of the sum itself: divided by the size */
};

#define LRN_BLOCK 256 /* maximum pixels of a block */
#define LRN_RING  16  /* backward: more channels than a sum has */

/* Contiguous pixels, with that distance between channels; the scale may be NULL. */
struct cpu_lrn_block {
    const float *x;
    float *y, *scale;
    int64_t x_channel, y_channel, scale_channel;
    int64_t pixels, channels, half;
    float k, alpha;
};

/* The same backward: dy, x, y and scale. `half` is below LRN_RING / 2. */
struct cpu_lrn_back {
    const float *in[4];
    float *dx;
    int64_t in_channel[4], dx_channel;
    int64_t pixels, channels, half;
    float factor; /* of x and the sum */
};

#endif
