/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches of vector.k for a plugin's BLAS-1 entries. They are not operations: nothing is planned,
 * and the caller provides the buffers. Nothing is allocated; any thread.
 */
#ifndef FERRY_KERNELS_VECTOR_H
#define FERRY_KERNELS_VECTOR_H

#include "kernels/plan.h"

/*
 * The buffers of a sum. `SUMS` has VECTOR_SUMS_BYTES; `COME` is a u32 counter that is initially 0.
 */
enum { VECTOR_X, VECTOR_Y, VECTOR_SUMS, VECTOR_COME, VECTOR_RESULT };
/* Room for a sum and its rounding error for each of the `busy` groups. */
#define VECTOR_SUMS_BYTES(target) (2 * sizeof(float) * (target)->busy)

/*
 * Sets a launch of FERRY_OP_DOT, ASUM or SUMSQ of n elements of F32, F16 or BF16; the caller fills
 * in `at`.
 */
void kernel_vector_sum(const struct kernel_target *target, uint32_t op, uint32_t dtype, int64_t n,
                       struct kernel_launch *out);

/* Sets a launch that converts X to Y, of any dtypes. */
void kernel_vector_convert(const struct kernel_target *target, uint32_t from, uint32_t to,
                           int64_t n, struct kernel_launch *out);

/*
 * Sets a launch that fills n elements of `size` bytes with the value `bits`, starting at the
 * address in buffers 0 and 1.
 */
void kernel_vector_fill(const struct kernel_target *target, uintptr_t address, uint32_t size,
                        uint64_t bits, int64_t n, struct kernel_launch *out);

#endif
