/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_desc.h
 * The structures of operations: operands, epilogues, descriptors. op_types.h defines the kinds.
 *
 * Part of the plugin ABI from minor 1.1: members have fixed widths, numbers never change, and each
 * structure begins with its size and grows only at the end.
 *
 * Shapes are always logical: N, C, then the spatial axes. Only the strides describe the layout in
 * memory: channels-last tensors, slices of a concatenation and transposed matrices differ from a
 * plain operand in their strides alone. An operand is *plain* if it is row-major and contiguous. A
 * plugin accepts plain operands for every kind that it supports; it may refuse others.
 */
#ifndef FERRY_OP_DESC_H
#define FERRY_OP_DESC_H

#include <ferry/op_params.h>

FERRY_BEGIN_DECLS

/**
 * The type, shape and layout of an operand. Element (i0, i1, …) is at offset i0·stride[0] +
 * i1·stride[1] + …, in elements from the reference that the run passes. Strides are positive. A
 * stride of 0 (tiling) is valid only for inputs of FERRY_OP_STRIDED_COPY. The stride of an axis of
 * dimension 1 is ignored. The elements of an output must not overlap.
 */
typedef struct ferry_operand {
    uint32_t dtype;                /* FERRY_F32, … */
    uint32_t rank;                 /* 0 (scalar) … FERRY_OP_AXES */
    int64_t shape[FERRY_OP_AXES];  /* each ≥ 0; unused axes 0 */
    int64_t stride[FERRY_OP_AXES]; /* elements; unused axes 0 */
} ferry_operand;

/**
 * Passes. in[0] of a backward pass is the gradient of y; the comment of each kind lists the other
 * inputs.
 */
#define FERRY_PASS_FORWARD          0u
#define FERRY_PASS_BACKWARD_DATA    1u /* out[0] = gradient of x */
#define FERRY_PASS_BACKWARD_WEIGHTS 2u /* out[0] += gradient of w, or of u */
#define FERRY_PASS_BACKWARD_BIAS    3u /* out[0] += gradient of the bias, or of v */

/** Flags of ferry_op_desc.math: permitted approximations, and a preference. 0: none. */
#define FERRY_MATH_TF32     1u
#define FERRY_MATH_WINOGRAD 2u /* Winograd convolution: fewer multiplications, different rounding */
#define FERRY_MATH_BF16     4u /* factors of products rounded to BF16: op_params.h; since 1.2 */
/* Winograd's tiles of 2 × 2, in all passes: they round about as direct sums do; since 1.2 */
#define FERRY_MATH_WINOGRAD_2 8u
/* Packed constants at most as large as the constants, though runs may take longer; since 1.2 */
#define FERRY_MATH_COMPACT 16u
/*
 * Strassen's method in products: fewer multiplications. It rounds by the largest terms of an
 * element and of some others, in other pixels and channels of the same image; NaN, infinity and
 * overflow reach these too. Since 1.2
 */
#define FERRY_MATH_STRASSEN 32u

/** Steps of an epilogue. */
#define FERRY_STEP_UNARY 0u /* y = function(y; a, b, c) */
#define FERRY_STEP_ADD   1u /* y += in[operand], of y's shape */
#define FERRY_STEP_SCALE 2u /* y *= in[operand], of shape (C) */
#define FERRY_STEP_SHIFT 3u /* y += in[operand], of shape (C) */
#define FERRY_STEP_PRELU 4u /* y = y > 0 ? y : in[operand]·y, of shape (C) or (1) */

/**
 * A step that is applied to out[0] before the result is stored. Its operand is an input that
 * follows the inputs of the kind.
 */
typedef struct ferry_op_step {
    uint32_t step;     /* FERRY_STEP_… */
    uint32_t function; /* FERRY_UNARY_… */
    uint32_t operand;  /* index of an input */
    uint32_t reserved;
    double a, b, c;
} ferry_op_step;

/**
 * The descriptor of an operation. ferry_op_desc_init (op.h) initialises it; the caller then sets
 * the members that the comment of the kind names. A plain value: it owns nothing and may be copied.
 */
typedef struct ferry_op_desc {
    uint32_t struct_size;
    uint32_t kind; /* FERRY_OP_… */
    uint32_t pass; /* FERRY_PASS_… */
    uint32_t math; /* FERRY_MATH_… */
    uint32_t n_in, n_out, n_epilogue;
    uint32_t constants; /* bit i: in[i] rarely changes (weights) and may be packed */
    ferry_operand in[FERRY_OP_INPUTS];
    ferry_operand out[FERRY_OP_OUTPUTS];
    ferry_op_params params;
    ferry_op_step epilogue[FERRY_OP_EPILOGUE];
} ferry_op_desc;

FERRY_END_DECLS

#endif
