/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kernel, and the programs that they are compiled in: a text, with numbers that are defined
 * for it.
 */
#ifndef FERRY_KERNELS_LIST_H
#define FERRY_KERNELS_LIST_H

/* X(program, text, LANES) */
#define KERNEL_PROGRAMS(X)           \
    X(ELEMENT, element, 1)           \
    X(POOL, pool, 1)                 \
    X(PACK, pack, 1)                 \
    X(CONVOLUTION_1, convolution, 1) \
    X(CONVOLUTION_2, convolution, 2) \
    X(CONVOLUTION_4, convolution, 4) \
    X(DIRECT, direct, 1)             \
    X(ROW, row, 1)                   \
    X(IMAGE, image, 1)               \
    X(TABLE, table, 1)               \
    X(RANDOM, random, 1)             \
    X(UPDATE, update, 1)             \
    X(SLOPE, slope, 1)               \
    X(SHARE, share, 1)               \
    X(SPREAD, spread, 1)             \
    X(GRADIENT, gradient, 2)

/* X(kernel, function, program, numbers) */
#define KERNEL_LIST(X)                                  \
    X(COPY, copy, ELEMENT, element)                     \
    X(UNARY, unary, ELEMENT, element)                   \
    X(BINARY, binary, ELEMENT, element)                 \
    X(POOL, pool, POOL, pool)                           \
    X(POOL_LAST, pool_last, POOL, pool)                 \
    X(PACK, pack, PACK, pack)                           \
    X(CONVOLVE_1, convolve, CONVOLUTION_1, convolution) \
    X(CONVOLVE_2, convolve, CONVOLUTION_2, convolution) \
    X(CONVOLVE_4, convolve, CONVOLUTION_4, convolution) \
    X(DEPTHWISE, depthwise, DIRECT, convolution)        \
    X(DIRECT, direct, DIRECT, convolution)              \
    X(REDUCE, reduce, ROW, row)                         \
    X(MOMENTS, moments, ROW, row)                       \
    X(SOFTMAX, softmax, ROW, row)                       \
    X(LRN, lrn, IMAGE, lrn)                             \
    X(RESIZE, resize, IMAGE, resize)                    \
    X(ROI_POOL, roi_pool, IMAGE, roi)                   \
    X(IM2COL, im2col, IMAGE, columns)                   \
    X(COL2IM, col2im, IMAGE, columns)                   \
    X(GATHER, gather, TABLE, table)                     \
    X(SCATTER_ADD, scatter_add, TABLE, table)           \
    X(RANDOM, random_numbers, RANDOM, random)           \
    X(UPDATE, update, UPDATE, update)                   \
    X(UNARY_DATA, unary_data, SLOPE, element)           \
    X(BINARY_DATA, binary_data, SLOPE, element)         \
    X(REDUCE_DATA, reduce_data, SLOPE, element)         \
    X(SHARE_EACH, share_each, SLOPE, element)           \
    X(SHARE, share, SHARE, row)                         \
    X(MOMENTS_DATA, moments_data, SHARE, row)           \
    X(SOFTMAX_DATA, softmax_data, SHARE, row)           \
    X(POOL_DATA, pool_data, SPREAD, pool)               \
    X(LRN_DATA, lrn_data, SPREAD, lrn_data)             \
    X(RESIZE_DATA, resize_data, SPREAD, resize)         \
    X(GRADIENT, gradient, GRADIENT, gradient)           \
    X(GRADIENT_SUM, gradient_sum, GRADIENT, gradient)

enum kernel_program {
#define PROGRAM(program, text, lanes) PROGRAM_##program,
    KERNEL_PROGRAMS(PROGRAM)
#undef PROGRAM
        PROGRAM_COUNT
};

enum kernel_name {
#define NAME(kernel, function, program, numbers) KERNEL_##kernel,
    KERNEL_LIST(NAME)
#undef NAME
        KERNEL_COUNT
};

#endif
