/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Products of a few rows, F32, with weights that are not packed: y (m × n) = x (m × k) times rows
 * of weights (n × k). The rows of both are contiguous.
 *
 * Such a product takes as long as reading the weights. Packing would read and write them once more
 * before the first product, and keep a second copy of them.
 *
 * Each element of y has a sum for each float of a vector, and these are added at the end. It
 * depends neither on the number of rows nor on tasks and threads.
 */
#ifndef FERRY_CPU_OP_DOTS_H
#define FERRY_CPU_OP_DOTS_H

#include <stdint.h>

/* The maximum number of rows of x. */
#define DOTS_MOST_ROWS 16

struct cpu_dots {
    const float *x;
    const void *w;
    /* Converts n elements of w to floats. NULL: they are floats; otherwise they have 16 bits. */
    void (*widen)(int64_t n, const void *x, float *y);
    int64_t x_row, w_row; /* the distances of rows */
    int64_t rows, k;      /* rows ≤ DOTS_MOST_ROWS */
    float *sums;          /* rows, sums_row apart */
    int64_t sums_row;
};

#endif
