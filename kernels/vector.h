/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches of vector.k, a plugin's plain arithmetic, which are not operations: nothing is planned,
 * and the caller provides the buffers. Nothing is allocated; any thread.
 */
#ifndef FERRY_KERNELS_VECTOR_H
#define FERRY_KERNELS_VECTOR_H

#include "kernels/plan.h"

/* Buffers of a sum; `SUMS` is of VECTOR_SUMS_BYTES, `COME` a u32 that is 0. */
enum { VECTOR_X, VECTOR_Y, VECTOR_SUMS, VECTOR_COME, VECTOR_RESULT };
/* As many groups as keep the device busy; for each a sum and its rounding error. */
#define VECTOR_SUMS_BYTES(target) (2 * sizeof(float) * (target)->busy)

/* FERRY_OP_DOT, ASUM or SUMSQ of n elements of F32, F16 or BF16; the caller fills in `at`. */
void kernel_vector_sum(const struct kernel_target *target, uint32_t op, uint32_t dtype, int64_t n,
                       struct kernel_launch *out);

/* From X to Y, any dtypes. */
void kernel_vector_convert(const struct kernel_target *target, uint32_t from, uint32_t to,
                           int64_t n, struct kernel_launch *out);

/*
 * Fills n elements of `size` bytes, each with the value `bits`, starting at the address in buffers
 * 0 and 1.
 */
void kernel_vector_fill(const struct kernel_target *target, uintptr_t address, uint32_t size,
                        uint64_t bits, int64_t n, struct kernel_launch *out);

#endif
