/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of operations and their backward passes, from which the tables of op/, of the kernels
 * and of the cpu plugin are generated. FERRY_OP_NAMED is not among them.
 *
 *     X(KIND, PASS, id, name, min_in, max_in, min_out, max_out, repeats, aliases)
 *
 * KIND and PASS are those of FERRY_OP_… and FERRY_PASS_…. A row needs the functions
 * ferry__check_<id> of op/, plan_<id> of the kernels and cpu_op_<id> of the cpu plugin, and nothing
 * links without them. min_in to max_out count the operands of the kind itself, without an epilogue.
 * repeats: bit i is set if in[i] may have strides of 0. aliases: bit i is set
 * if out[0] may be in[i].
 */
#ifndef FERRY_KERNELS_KINDS_H
#define FERRY_KERNELS_KINDS_H

/* clang-format off: one pass per line */
#define KIND_LIST(X)                                                                         \
    X(CONVOLUTION, FORWARD, convolution, "convolution", 2, 3, 1, 1, 0, 0)                    \
    X(INNER_PRODUCT, FORWARD, inner_product, "inner product", 2, 3, 1, 1, 0, 0)              \
    X(IM2COL, FORWARD, im2col, "im2col", 1, 1, 1, 1, 0, 0)                                   \
    X(COL2IM, FORWARD, col2im, "col2im", 1, 1, 1, 1, 0, 0)                                   \
    X(BATCHED_GEMM, FORWARD, batched_gemm, "batched gemm", 2, 3, 1, 1, 0, 4)                 \
    X(POOL, FORWARD, pool, "pool", 1, 1, 1, 2, 0, 0)                                         \
    X(UNARY, FORWARD, unary, "unary", 1, 1, 1, 1, 0, 1)                                      \
    X(BINARY, FORWARD, binary, "binary", 2, 3, 1, 1, 0, 3)                                   \
    X(REDUCE, FORWARD, reduce, "reduce", 1, 1, 1, 1, 0, 0)                                   \
    X(MOMENTS, FORWARD, moments, "moments", 1, 1, 2, 2, 0, 0)                                \
    X(SOFTMAX, FORWARD, softmax, "softmax", 1, 1, 1, 1, 0, 1)                                \
    X(LRN, FORWARD, lrn, "lrn", 1, 1, 1, 2, 0, 0)                                            \
    X(STRIDED_COPY, FORWARD, strided_copy, "strided copy", 1, 1, 1, 1, 1, 0)                 \
    X(RESIZE, FORWARD, resize, "resize", 1, 1, 1, 1, 0, 0)                                   \
    X(ROI_POOL, FORWARD, roi_pool, "roi pool", 2, 2, 1, 1, 0, 0)                             \
    X(GATHER, FORWARD, gather, "gather", 2, 2, 1, 1, 0, 0)                                   \
    X(SCATTER_ADD, FORWARD, scatter_add, "scatter-add", 2, 2, 1, 1, 0, 0)                    \
    X(RANDOM, FORWARD, random, "random", 0, 0, 1, 1, 0, 0)                                   \
    X(UPDATE, FORWARD, update, "update", 1, 1, 1, FERRY_OP_OUTPUTS, 0, 0)                    \
    X(CONVOLUTION, BACKWARD_DATA, convolution_data,                                          \
      "convolution backward data", 2, 2, 1, 1, 0, 0)                                         \
    X(CONVOLUTION, BACKWARD_WEIGHTS, convolution_weights,                                    \
      "convolution backward weights", 2, 2, 1, 1, 0, 0)                                      \
    X(CONVOLUTION, BACKWARD_BIAS, convolution_bias,                                          \
      "convolution backward bias", 1, 1, 1, 1, 0, 0)                                         \
    X(INNER_PRODUCT, BACKWARD_DATA, inner_product_data,                                      \
      "inner product backward data", 2, 2, 1, 1, 0, 0)                                       \
    X(INNER_PRODUCT, BACKWARD_WEIGHTS, inner_product_weights,                                \
      "inner product backward weights", 2, 2, 1, 1, 0, 0)                                    \
    X(INNER_PRODUCT, BACKWARD_BIAS, inner_product_bias,                                      \
      "inner product backward bias", 1, 1, 1, 1, 0, 0)                                       \
    X(POOL, BACKWARD_DATA, pool_data, "pool backward data", 1, 2, 1, 1, 0, 0)                \
    X(UNARY, BACKWARD_DATA, unary_data, "unary backward data", 2, 2, 1, 1, 0, 1)             \
    X(BINARY, BACKWARD_DATA, binary_data, "binary backward data", 3, 3, 1, 1, 0, 1)          \
    X(BINARY, BACKWARD_WEIGHTS, binary_weights, "binary backward weights", 1, 3, 1, 1, 0, 0) \
    X(BINARY, BACKWARD_BIAS, binary_bias, "binary backward bias", 1, 1, 1, 1, 0, 0)          \
    X(REDUCE, BACKWARD_DATA, reduce_data, "reduce backward data", 1, 2, 1, 1, 0, 0)          \
    X(MOMENTS, BACKWARD_DATA, moments_data, "moments backward data", 1, 3, 1, 1, 0, 1)       \
    X(SOFTMAX, BACKWARD_DATA, softmax_data, "softmax backward data", 2, 2, 1, 1, 0, 1)       \
    X(LRN, BACKWARD_DATA, lrn_data, "lrn backward data", 4, 4, 1, 1, 0, 0)                   \
    X(RESIZE, BACKWARD_DATA, resize_data, "resize backward data", 1, 1, 1, 1, 0, 0)
/* clang-format on */

#endif
