/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of the kernels in integer.cl, whose text includes this file. Each structure begins
 * with the offset of each buffer's first element, in bytes; strides are in elements.
 */
#ifndef FERRY_OPENCL_INTEGER_ARGS_H
#define FERRY_OPENCL_INTEGER_ARGS_H

#include "kernels/types.h"

/* The maximum terms of a sum of products of bytes that float holds exactly: below 2^24. */
#define INTEGER_EXACT_TERMS 512
/* Elements of x that an item of a CPU converts at a time. */
#define INTEGER_STAGE 64
/* Vectors of outputs in a block, and the pixels that an item computes at once. */
#define INTEGER_VECTORS     2
#define INTEGER_PIXELS(vec) ((vec) >= 16 ? 12 : 6)

/*
 * A convolution, or an inner product as a convolution whose kernel is as large as the image. The
 * buffers are x, packed weights, y, bias, scale, and the operand of ADD. A line of the kernel is a
 * sum of `span` elements.
 */
struct integer_args {
    i64 at[BUFFERS];
    i64 in[3], out[3], size[3], stride[3], dilation[3], pad[3];
    i64 x[5], y[5], add[5];          /* strides: image, channel, spatial axes */
    i64 pixels;                      /* of all images */
    i64 channels, outputs;           /* of one group */
    i64 taps, span, element;         /* lines of the kernel along its last axis: 1 if a line is
                                      * contiguous in x, else one for each tap; their elements, and
                                      * the distance of these in x */
    i64 groups, blocks;              /* blocks of outputs of a group */
    i64 tiles, all;                  /* tiles of an item, and of the operation */
    i64 bias, scale;                 /* strides: 1 or 0 */
    i32 x_is_signed, y_dtype, add_dtype; /* dtypes: DTYPE_… of kernels/args.h */
    i32 has_bias, has_scale, has_add;
    f32 slope, least, most;          /* ReLU's slope, the bounds of a clip, */
    f32 factor, term, reserved;      /* and y = clipped · factor + term */
};

/*
 * Arguments that pack weights: the buffers are w and the packed weights.
 */
struct integer_pack_args {
    i64 at[BUFFERS];
    i64 groups, blocks, lines, span;      /* lines of the kernel, and elements of a line */
    i64 taps;                             /* of the lines: along the last axis */
    i64 size[3], channels, outputs;
    i64 group, output, channel, tap[3];   /* strides of w */
    i64 quad, lanes;                      /* adjacent elements of an output: 4 or 1; outputs of a
                                           * block */
};

#endif
