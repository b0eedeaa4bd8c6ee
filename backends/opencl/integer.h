/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolutions and inner products of bytes by the kernels of integer.cl: plans as those of
 * kernels/plan.h, whose kernels have numbers from KERNEL_COUNT on.
 */
#ifndef FERRY_OPENCL_INTEGER_H
#define FERRY_OPENCL_INTEGER_H

#include "kernels/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define OCL_INTEGER_PACK      (KERNEL_COUNT + 0u)
#define OCL_INTEGER_CONVOLVE  (KERNEL_COUNT + 1u)
#define OCL_INTEGER_DEPTHWISE (KERNEL_COUNT + 2u)
#define OCL_KERNEL_COUNT      (KERNEL_COUNT + 3u)
/* The program of these kernels, without and with DOT. */
#define OCL_PROGRAM_INTEGERS (PROGRAM_COUNT + 0u)
#define OCL_PROGRAM_DOTS     (PROGRAM_COUNT + 1u)
#define OCL_PROGRAM_COUNT    (PROGRAM_COUNT + 2u)

/* Whether the operation is a product with weights of I8, which kernels/ do not compute. */
bool ocl_is_integer(const ferry_op_desc *op);

/*
 * Plans the operation: a forward CONVOLUTION that is not transposed, or INNER_PRODUCT, whose
 * epilogue is SCALE, ADD, ReLU or CLIP, and POWER with the exponent 1, in this order and each
 * optional. `dots`: the kernels are compiled with DOT. Returns 0 or FERRY_EUNSUPPORTED.
 */
int ocl_integer_plan(const struct kernel_target *target, bool dots, const ferry_op_desc *op,
                     struct kernel_plan *out);

/* As kernel_function, kernel_program_of and kernel_program_lines, with these kernels. */
const char *ocl_kernel_function(uint32_t kernel);
uint32_t ocl_kernel_program(uint32_t kernel, bool dots);
size_t ocl_program_lines(uint32_t program, const char **out);

#endif
