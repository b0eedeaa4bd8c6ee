/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_params.h
 * The parameters of operations: windows, and the functions of each kind, by number; and the rules
 * of integer arithmetic and of BF16. op_types.h defines the kinds.
 *
 * Part of the plugin ABI from minor 1.1: numbers never change, members have fixed widths.
 */
#ifndef FERRY_OP_PARAMS_H
#define FERRY_OP_PARAMS_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/**
 * Limits: the number of axes of an operand, spatial axes of a window, inputs, outputs, epilogue
 * steps.
 */
#define FERRY_OP_AXES     8
#define FERRY_OP_SPATIAL  3
#define FERRY_OP_INPUTS   6
#define FERRY_OP_OUTPUTS  4
#define FERRY_OP_EPILOGUE 4
/** The size of a name of FERRY_OP_NAMED, with its NUL. */
#define FERRY_OP_NAME 32

/*
 * Integer arithmetic, forward, since 1.2: CONVOLUTION, INNER_PRODUCT and POOL take an x of I8 or
 * U8, with a w of I8, and a STRIDED_COPY with an epilogue takes operands of I8 and U8. Elements are
 * the integers themselves, and products are summed exactly, or in F32. The epilogue contains the
 * scales: a SCALE step for each channel, or the factor and term of POWER for all elements.
 * Bias and steps are F32; the operand of ADD is F32, I8 or U8. y is F32; or I8 or U8, and then the
 * result of the steps is rounded once to nearest even, saturates, and is 0 for NaN. POOL has no
 * mask. Plugins that do not declare FERRY_OP_INTEGERS (op_plugin.h) never see such an operation:
 * ferry computes it in F32.
 */

/*
 * FERRY_MATH_BF16, since 1.2: a CONVOLUTION or INNER_PRODUCT of F32 may round the factors of its
 * products (forward x and w; dy and w for the gradient of x, dy and x for that of w) to BF16, to
 * nearest even, which changes each by at most 2⁻⁸ of itself. A number from 2¹²⁸ − 2¹¹⁹ on becomes
 * infinite, and NaN stays NaN. Products, sums, bias, steps and the gradient that a sum is added to
 * are F32; denormal numbers may count as 0 in each of them, and sums may be rounded to nearest in
 * spite of the thread's mode. A plugin that does not know the flag, or a pass of it, computes in
 * F32.
 *
 * Half weights, since 1.2: a forward INNER_PRODUCT whose other operands are F32 may have a w of F16
 * or BF16. The result is that of the same numbers in F32. Plugins that do not declare
 * FERRY_OP_HALF_WEIGHTS (op_table.h) never see such an operation: ferry converts w in each run.
 *
 * Values of BF16, since 1.2: in a forward CONVOLUTION or INNER_PRODUCT whose w, bias and vectors by
 * channel are F32, each of x, y and what a step adds may be F32 or BF16; and so in a forward BINARY
 * whose u and v are F32. y is that of the same numbers in F32, rounded once, to nearest even, after
 * the last step; denormal numbers may become 0, and NaN stays NaN. Plugins that do not declare
 * FERRY_OP_BF16_VALUES (op_table.h) never see such an operation: ferry converts x, y and what is
 * added in each run.
 */

/** A window over the spatial axes, for convolution, im2col, col2im and pool. */
typedef struct ferry_op_window {
    uint32_t axes;  /* 1 to FERRY_OP_SPATIAL */
    uint32_t group; /* divides C and O; 1 for kinds other than convolution */
    int64_t kernel[FERRY_OP_SPATIAL], stride[FERRY_OP_SPATIAL],
        dilation[FERRY_OP_SPATIAL];                           /* ≥ 1 */
    int64_t pad[FERRY_OP_SPATIAL], pad_end[FERRY_OP_SPATIAL]; /* ≥ 0; before and after */
    uint32_t transposed;                                      /* 0 or 1; convolution only */
    uint32_t reserved;
} ferry_op_window;

/** Methods of POOL. */
#define FERRY_POOL_MAX     0u
#define FERRY_POOL_AVERAGE 1u
/**
 * Divisors of an average: PADDED counts the elements of the window clipped to in + pad_end, as
 * Caffe does; VALID counts only the elements inside the input.
 */
#define FERRY_POOL_DIVISOR_PADDED 0u
#define FERRY_POOL_DIVISOR_VALID  1u

/**
 * Functions of UNARY and of epilogue steps, of x with the parameters a, b, c, and their data
 * passes.
 *
 * dx is dy times the derivative, where r is x or y as listed: relu: r > 0 ? 1 : a. elu: r > 0 ? 1 :
 * r + a. sigmoid: r·(1 − r). tanh: 1 − r². abs: sign(r), 0 at 0. power, with p = b·r + c: a·b if
 * a·b is 0 or a is 1; 2·b·p if a is 2; else a·b·pᵃ/p, which is NaN or infinite at p = 0, as in
 * Caffe. exp: a·r. log: c·a/(a·r + b). bnll: e/(e + 1) with e = exp(min(r, 50)). clip: a ≤ r ≤ b ?
 * 1 : 0. swish: s·(1 + a·r·(1 − s)) with s = sigmoid(a·r). mish: t + r·(1 − t²)·sigmoid(r) with t =
 * tanh(log(1 + exp(r))). hard swish, with h = a·r + b: h ≤ 0 ? 0 : h ≥ 1 ? 1 : a·r + h. hard
 * sigmoid: 0 < a·r + b < 1 ? a : 0. gelu: Φ(r) + r·exp(−r²/2)/√2π. softsign: 1 / (1 + |r|)². round,
 * whose b and c are whole numbers of at most 2²², rounds to nearest even; its derivative is that of
 * clipping, b ≤ rint(a·r) ≤ c ? 1 : 0 (straight-through estimator). threshold has no data pass.
 */
#define FERRY_UNARY_RELU         0u  /* x > 0 ? x : a·x; r is x, or y if a ≥ 0 */
#define FERRY_UNARY_ELU          1u  /* x > 0 ? x : a·(exp(x) − 1); r is y */
#define FERRY_UNARY_SIGMOID      2u  /* 1 / (1 + exp(−x)); r is y */
#define FERRY_UNARY_TANH         3u  /* r is y */
#define FERRY_UNARY_ABS          4u  /* r is x */
#define FERRY_UNARY_POWER        5u  /* (b·x + c)^a; a = 0 gives 1, a = 1 is affine; r is x */
#define FERRY_UNARY_EXP          6u  /* exp(a·x + b); r is y */
#define FERRY_UNARY_LOG          7u  /* c · log(a·x + b); r is x */
#define FERRY_UNARY_BNLL         8u  /* log(1 + exp(x)), without overflow; r is x */
#define FERRY_UNARY_THRESHOLD    9u  /* x > a ? 1 : 0 */
#define FERRY_UNARY_CLIP         10u /* min(max(x, a), b); r is x */
#define FERRY_UNARY_SWISH        11u /* x / (1 + exp(−a·x)); r is x */
#define FERRY_UNARY_MISH         12u /* x·tanh(log(1 + exp(x))); r is x */
#define FERRY_UNARY_HARD_SWISH   13u /* x·min(max(a·x + b, 0), 1); r is x */
#define FERRY_UNARY_HARD_SIGMOID 14u /* min(max(a·x + b, 0), 1); r is x */
#define FERRY_UNARY_GELU         15u /* x·Φ(x) = x·erfc(−x/√2)/2; r is x */
#define FERRY_UNARY_SOFTSIGN     16u /* x / (1 + |x|); r is x */
#define FERRY_UNARY_ROUND        17u /* min(max(rint(a·x), b), c) / a, b ≤ c; r is x; since 1.2 */
#define FERRY_UNARY_COUNT        18u /* the number of functions of this header */

/**
 * Functions of BINARY, of x, u and v, and their backward passes. MAX in data: x > u ? dy : 0. Other
 * kinds compute the passes that are not listed: dx of a product or of SCALE is the product of dy
 * and u, dx of a sum a multiple of dy.
 */
#define FERRY_BINARY_SUM     0u /* a·x + b·u; weights: dy → du += b·dy */
#define FERRY_BINARY_PRODUCT 1u /* x·u; weights: dy, x → du += dy·x */
#define FERRY_BINARY_MAX     2u /* x > u ? x : u; weights: dy, x, u → du += x > u ? 0 : dy */
#define FERRY_BINARY_SCALE   3u /* x·u + v, or x·u without v; weights as PRODUCT; bias: dv += dy */
#define FERRY_BINARY_PRELU   4u /* x > 0 ? x : u·x; data: x > 0 ? dy : u·dy; weights: dy, x → */
                                /* du += x > 0 ? 0 : x·dy */
#define FERRY_BINARY_NORMALISE 5u /* (x − u)·v; data: by MOMENTS */
#define FERRY_BINARY_QUOTIENT  6u /* x / u */

/** Functions of REDUCE. The result is multiplied by reduce.scale; the index of ARGMAX is not. */
#define FERRY_REDUCE_SUM    0u
#define FERRY_REDUCE_SUMSQ  1u
#define FERRY_REDUCE_ASUM   2u
#define FERRY_REDUCE_MAX    3u
#define FERRY_REDUCE_ARGMAX 4u /* over one axis; the last of equal maxima; y is F32 or I32 */

/** Regions of LRN. */
#define FERRY_LRN_ACROSS 0u
#define FERRY_LRN_WITHIN 1u

/** RESIZE: the interpolation, and the input coordinate of output i. */
#define FERRY_RESIZE_NEAREST       0u
#define FERRY_RESIZE_BILINEAR      1u
#define FERRY_RESIZE_HALF_PIXEL    0u /* (i + 0.5)·in/out − 0.5 */
#define FERRY_RESIZE_ALIGN_CORNERS 1u /* i·(in − 1)/(out − 1); 0 where out is 1 */
#define FERRY_RESIZE_ASYMMETRIC    2u /* i·in/out */

/** Distributions of RANDOM, with parameters a and b. */
#define FERRY_RANDOM_UNIFORM   0u /* in [a, b) */
#define FERRY_RANDOM_GAUSSIAN  1u /* mean a, standard deviation b */
#define FERRY_RANDOM_BERNOULLI 2u /* b with probability a, else 0 */

/** Solvers of UPDATE, and the number of scalars of a run. */
#define FERRY_UPDATE_SGD      0u
#define FERRY_UPDATE_NESTEROV 1u
#define FERRY_UPDATE_ADAGRAD  2u
#define FERRY_UPDATE_RMSPROP  3u
#define FERRY_UPDATE_ADADELTA 4u
#define FERRY_UPDATE_ADAM     5u
#define FERRY_UPDATE_SCALARS  7u

/** Parameters by kind; parameters that a kind does not use are 0. The size stays 256 bytes. */
typedef union ferry_op_params {
    ferry_op_window window; /* CONVOLUTION, IM2COL, COL2IM; POOL also has one */
    struct {
        ferry_op_window window; /* first, so that params.window is this one */
        uint32_t method;        /* FERRY_POOL_… */
        uint32_t divisor;
    } pool;
    struct {
        double alpha, beta;
    } gemm;
    struct {
        uint32_t function, reserved;
        double a, b, c;
    } unary;
    struct {
        uint32_t function, reserved;
        double a, b;
    } binary;
    struct {
        uint32_t function;
        uint32_t axes; /* bit i: axis i */
        double scale;
    } reduce; /* MOMENTS uses axes only */
    struct {
        uint32_t axis;
        uint32_t logarithm; /* 1: y = x − max − log Σ, the logarithm */
    } softmax;
    struct {
        uint32_t region; /* FERRY_LRN_… */
        uint32_t reserved;
        int64_t size; /* odd */
        double alpha, beta, k;
    } lrn;
    struct {
        uint32_t method, sampling;
    } resize;
    struct {
        uint32_t group; /* 0: ROIPooling; g: PSROIPooling over g × g groups */
        uint32_t reserved;
        double spatial_scale;
    } roi;
    struct {
        uint32_t distribution, reserved;
        double a, b;
    } random;
    struct {
        uint32_t solver, reserved; /* FERRY_UPDATE_… */
    } update;
    struct {
        char name[FERRY_OP_NAME];
        uint32_t bytes; /* number of used bytes of block */
        uint32_t reserved;
        unsigned char block[216];
    } named;
    uint64_t room[32];
} ferry_op_params;

FERRY_END_DECLS

#endif
