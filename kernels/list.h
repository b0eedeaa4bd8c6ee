/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of all kernels, and of the programs that they are compiled in. A program is a list of
 * sources, with the constants that are defined for them.
 */
#ifndef FERRY_KERNELS_LIST_H
#define FERRY_KERNELS_LIST_H

/*
 * X(program). Each program costs one start of its compiler, even if its binary is cached, so the
 * kernels of a net's forward pass form one program, and those of training a second one. CONVERT,
 * VECTOR and TENSOR are not for OpenCL, whose dialect lacks doubles and what number.h needs them
 * for.
 */
#define KERNEL_PROGRAMS(X) \
    X(FORWARD)             \
    X(TRAINING)            \
    X(TABLE)               \
    X(RANDOM)              \
    X(CONVERT)             \
    X(VECTOR)              \
    X(TENSOR)

/* X(program, text, LANES): the sources of the program, in their order. */
#define KERNEL_TEXTS(X)         \
    X(FORWARD, element, 1)      \
    X(FORWARD, pool, 1)         \
    X(FORWARD, pack, 1)         \
    X(FORWARD, convolution, 1)  \
    X(FORWARD, convolution, 2)  \
    X(FORWARD, convolution, 4)  \
    X(FORWARD, direct, 1)       \
    X(FORWARD, slide, 1)        \
    X(FORWARD, row, 1)          \
    X(FORWARD, image, 1)        \
    X(TRAINING, slope, 1)       \
    X(TRAINING, share, 1)       \
    X(TRAINING, spread, 1)      \
    X(TRAINING, gradient, 2)    \
    X(TRAINING, update, 1)      \
    X(TABLE, table, 1)          \
    X(RANDOM, random, 1)        \
    X(CONVERT, convert, 1)      \
    X(VECTOR, vector, 1)        \
    X(TENSOR, tensor, 1)

/* X(kernel, function, program, numbers) */
#define KERNEL_LIST(X)                                  \
    X(COPY, copy, FORWARD, element)                     \
    X(CONVERT_COPY, convert_copy, FORWARD, element)     \
    X(CONVERT_ANY, convert_any, CONVERT, element)       \
    X(UNARY, unary, FORWARD, element)                   \
    X(BINARY, binary, FORWARD, element)                 \
    X(POOL, pool, FORWARD, pool)                           \
    X(POOL_LAST, pool_last, FORWARD, pool)                 \
    X(PACK, pack, FORWARD, pack)                           \
    X(CONVOLVE_1, convolve_1, FORWARD, convolution) \
    X(CONVOLVE_2, convolve_2, FORWARD, convolution) \
    X(CONVOLVE_4, convolve_4, FORWARD, convolution) \
    X(DEPTHWISE, depthwise, FORWARD, convolution)        \
    X(SLIDE, slide, FORWARD, convolution)                \
    X(DIRECT, direct, FORWARD, convolution)              \
    X(REDUCE, reduce, FORWARD, row)                         \
    X(MOMENTS, moments, FORWARD, row)                       \
    X(SOFTMAX, softmax, FORWARD, row)                       \
    X(LRN, lrn, FORWARD, lrn)                             \
    X(RESIZE, resize, FORWARD, resize)                    \
    X(ROI_POOL, roi_pool, FORWARD, roi)                   \
    X(IM2COL, im2col, FORWARD, columns)                   \
    X(COL2IM, col2im, FORWARD, columns)                   \
    X(GATHER, gather, TABLE, table)                     \
    X(SCATTER_ADD, scatter_add, TABLE, table)           \
    X(RANDOM, random_numbers, RANDOM, random)           \
    X(UPDATE, update, TRAINING, update)                   \
    X(UNARY_DATA, unary_data, TRAINING, element)           \
    X(BINARY_DATA, binary_data, TRAINING, element)         \
    X(REDUCE_DATA, reduce_data, TRAINING, element)         \
    X(SHARE_EACH, share_each, TRAINING, element)           \
    X(SHARE, share, TRAINING, row)                         \
    X(MOMENTS_DATA, moments_data, TRAINING, row)           \
    X(SOFTMAX_DATA, softmax_data, TRAINING, row)           \
    X(POOL_DATA, pool_data, TRAINING, pool)               \
    X(LRN_DATA, lrn_data, TRAINING, lrn_data)             \
    X(RESIZE_DATA, resize_data, TRAINING, resize)         \
    X(GRADIENT, gradient, TRAINING, gradient)           \
    X(GRADIENT_SUM, gradient_sum, TRAINING, gradient)  \
    X(VECTOR_SUM, vector_sum, VECTOR, sum)               \
    X(VECTOR_CONVERT, vector_convert, VECTOR, convert)   \
    X(VECTOR_FILL, vector_fill, VECTOR, fill)            \
    X(TENSOR, tensor, TENSOR, tensor)

enum kernel_program {
#define PROGRAM(program) PROGRAM_##program,
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
