/* SPDX-License-Identifier: BSD-2-Clause */
/* What the loops over rows of each instruction set (loops.h) are given. */
#ifndef FERRY_CPU_OP_ROWS_H
#define FERRY_CPU_OP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Elements side by side in y; in an input side by side, or one for all: a step of 1 or 0. */
struct cpu_binary_row {
    uint32_t function; /* FERRY_BINARY_… */
    float a, b;
    const float *x, *u, *v; /* v may be NULL: 0 */
    int64_t x_step, u_step, v_step;
    float *y;
};

/* One window of all channels, which lie side by side. */
struct cpu_pool_window {
    const float *x;            /* its first element */
    int64_t count[3], step[3]; /* elements of each axis, and from one to the next */
    int64_t channels;
    bool is_average;
    float divisor; /* 0: nothing is seen */
    float *y;
};

/* A pixel of LRN across channels that lie side by side, with a beta of 3/4. x is not y. */
struct cpu_lrn_pixel {
    const float *x;
    float *y;
    int64_t channels, half; /* channels to either side that count */
    float k, alpha;         /* of the sum itself: over the size */
};

#endif
