/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of BF16 (op_params.h), and functions for them: as those of loops.h, except that x and y
 * are BF16.
 */
#ifndef FERRY_CPU_OP_VALUES_H
#define FERRY_CPU_OP_VALUES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_depthwise;
struct cpu_op;
struct cpu_pool_window;
struct cpu_winograd_patch;

struct cpu_values {
    /* Converts n contiguous numbers to floats. */
    void (*widen_row)(const void *x, int64_t n, float *y);
    /* Rounds n contiguous floats; denormal numbers become 0. */
    void (*round_row)(const float *x, int64_t n, void *y);
    void (*winograd_in)(const struct cpu_winograd_patch *p);
    /* Denormal results become 0. */
    void (*depthwise_slide)(const struct cpu_depthwise *d, const void *x, int64_t y, int64_t first,
                            int64_t count);
    /*
     * y = max(x·u + v, least) of n contiguous numbers, of which u and v are floats; NaN stays NaN.
     * Denormal results become 0.
     */
    void (*scale)(const void *x, const float *u, const float *v, float least, int64_t n, void *y);
    /* Denormal results remain. */
    void (*pool)(const struct cpu_pool_window *w);
};

/* The functions, for instruction sets with cpu_pairs; NULL: the compiler does not support them. */
extern const struct cpu_values *const cpu_values_bf16;

/* Whether a product with weights of F32 reads, adds or writes BF16 (operand.c). */
bool cpu_op_has_values(const struct cpu_op *p);
/* Whether a convolution that is planned by Winograd's tiles can have them (winograd.c). */
bool cpu_winograd_takes_values(const struct cpu_op *p);

#endif
