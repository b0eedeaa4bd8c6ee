/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of kernels, which the plans (plan.h) fill in. Every structure begins with the
 * offset of each buffer's first element, in bytes; strides are in elements.
 */
#ifndef FERRY_KERNELS_ARGS_H
#define FERRY_KERNELS_ARGS_H

#include "kernels/types.h"

#define WALK_AXES     8
#define WALK_OPERANDS 4
#define STEPS         5

/* The values of ferry_dtype, which never change. */
#define DTYPE_F32  0
#define DTYPE_F64  1
#define DTYPE_F16  2
#define DTYPE_BF16 3
#define DTYPE_I8   4
#define DTYPE_U8   5
#define DTYPE_I32  6
#define DTYPE_I64  7
#define DTYPE_U32  8

/*
 * Numbers of op_params.h, which the kernels' sources cannot include; plan.c compares them at
 * compile time.
 */
#define BINARY_SUM       0
#define BINARY_PRODUCT   1
#define BINARY_MAX       2
#define BINARY_SCALE     3
#define BINARY_PRELU     4
#define BINARY_NORMALISE 5
#define REDUCE_SUM       0
#define REDUCE_SUMSQ     1
#define REDUCE_ASUM      2
#define REDUCE_MAX       3
#define REDUCE_ARGMAX    4
#define RANDOM_UNIFORM   0
#define RANDOM_GAUSSIAN  1
#define UPDATE_SGD       0
#define UPDATE_NESTEROV  1
#define UPDATE_ADAGRAD   2
#define UPDATE_RMSPROP   3
#define UPDATE_ADADELTA  4
#define STEP_UNARY       0
#define STEP_ADD         1
#define STEP_SCALE       2
#define STEP_SHIFT       3
#define STEP_PRELU       4

/* A pair of dtypes as one number. */
#define DTYPE_PAIR(from, to) (16 * (from) + (to))

/*
 * Strides along the axes of a walk. It is a structure because dialect.h forbids arrays of arrays.
 */
struct along {
    i64 axis[WALK_AXES];
};

/*
 * A loop over the elements of operands of one shape, the innermost axis last; a group processes
 * `piece` elements.
 */
struct walk {
    i64 count, piece;
    i64 rank, operands;
    i64 shape[WALK_AXES];
    STRUCT along stride[WALK_OPERANDS];
};

/* A window over three spatial axes; missing axes come first and have size 1. */
struct window {
    i64 images, channels;
    i64 in[3], out[3], size[3], stride[3], dilation[3], pad[3], pad_end[3];
    i64 x[5], y[5]; /* strides: image, channel, spatial axes */
};

/* A step that is applied to an element of an output before it is stored (FERRY_STEP_…). */
struct step {
    i32 step, function;
    i32 buffer, reserved;
    f32 a, b, c, scale;                    /* scale: the factor of ADD's operand */
    i64 group, image, channel, spatial[3]; /* strides of the operand */
};

/*
 * Copies and functions of elements: operand 0 of the walk is y, in buffer 0; the inputs are the
 * following operands.
 */
struct element_args {
    i64 at[BUFFERS];
    STRUCT walk walk;
    i32 function, inputs; /* function: for a conversion, a pair of dtypes; inputs: their number */
    f32 a, b, c;
    i32 size; /* the size of an element that is copied */
};

struct pool_args {
    i64 at[BUFFERS]; /* offsets of x, y, mask */
    STRUCT window window;
    i64 mask[5];
    i64 piece; /* number of windows per group */
    i32 is_average, counts_padding, has_mask, mask_is_i32;
    i32 last, reserved;
};

/*
 * A convolution, or an operation that is computed as a convolution: an inner product, a product of
 * matrices. Weights are packed in blocks of LANES · VEC outputs: group, block, tap, channel,
 * output.
 */
struct convolution_args {
    i64 at[BUFFERS]; /* offsets of x, packed weights, y, operands of steps */
    STRUCT window window;
    i64 pixels, channels, outputs; /* pixels: of all images; channels, outputs: of one group */
    i64 x_group, w_group, y_group; /* distances from one group to the next; w_group: in packed
                                    * elements */
    i64 pixel_groups, tiles;       /* the number of groups of items over the pixels, and of tiles
                                    * per item */
    i64 blocks, steps;
    i64 run;                 /* number per item: for `slide`, pixels of a line; for `depthwise`,
                              * channels */
    i64 lines;               /* number of lines that an item of `slide` processes in parallel: 1 or
                              * 2 */
    i64 w[5];                /* strides of the unpacked weights: output, channel, kernel */
    i64 is_transposed, last; /* last: the channels of y are contiguous */
    STRUCT step step[STEPS];
};

/* The pixels and outputs that a group of `tensor` computes. */
#define TENSOR_ROWS    64
#define TENSOR_COLUMNS 32

/*
 * A convolution of halves, or an operation that is computed as one: y = alpha · sum + beta ·
 * addend. The addend is a bias or a matrix; `depth` products make a sum.
 */
struct tensor_args {
    i64 at[BUFFERS]; /* offsets of x, w, y, the addend */
    STRUCT window window;
    i64 pixels, channels, outputs, depth; /* as in convolution_args */
    i64 x_group, w_group, y_group;
    i64 w[5], first;          /* strides of w: output, channel, kernel; its first element */
    i64 pixel_groups, blocks; /* the number of groups of items over the pixels, and the outputs */
    i64 add[3];               /* strides of the addend: group, image, output */
    f32 alpha, beta;
    i32 is_bfloat, has_addend;
};

struct pack_args {
    i64 at[BUFFERS]; /* offsets of weights, packed weights */
    i64 groups, blocks, taps, channels, outputs, lanes;
    i64 size[3];                        /* the size of the kernel */
    i64 group, output, channel, tap[3]; /* strides of the weights */
    i64 first;                          /* the position of the first element, which is not 0 with
                                         * negative strides */
    f32 scale;
    i32 reserved;
};

/*
 * Arguments of sum, maximum and softmax: `rows` is a walk over the kept axes, `part` a walk over
 * the elements that are reduced to one element of a row.
 */
struct row_args {
    i64 at[BUFFERS];
    STRUCT walk rows, part;
    i32 function, is_index, logarithm, inputs;
    f32 scale, count;
};

/*
 * Values of `function` of share and share_each: the contribution of an element of dy to the
 * gradient of a broadcast operand.
 */
#define SHARE_SCALED  0 /* scale · dy */
#define SHARE_PRODUCT 1 /* x · dy */
#define SHARE_MAX     2 /* x > u ? 0 : dy */
#define SHARE_PRELU   3 /* x > 0 ? 0 : x · dy */

struct lrn_args {
    i64 at[BUFFERS]; /* offsets of x, y, scale */
    STRUCT window window;
    i64 scale[5], piece, size;
    i32 is_across, has_scale, last;
    f32 alpha, beta, k;
};

/* Strides of an image's axes: image, channel, spatial. */
struct to_spot {
    i64 axis[5];
};

/* Arguments of the gradient of LRN. Strides: dx, dy, x, y, scale. */
struct lrn_data_args {
    i64 at[BUFFERS];
    i64 images, channels, in[3], piece, size;
    STRUCT to_spot stride[5];
    i32 is_across, last;
    f32 alpha, beta;
};

/*
 * Arguments of the gradient of weights: x is the wider of the two images, y the narrower one, with
 * `outputs` channels. A row is one element of the weights of an output: a channel and an element of
 * the kernel. The pixels of y are divided into `lines` of `run` pixels, and these into segments.
 * Each segment has sums of its own (segment, group, block, row, output), which are then added.
 */
struct gradient_args {
    i64 at[BUFFERS]; /* offsets of y, x, sums; for the addition: sums, weights */
    STRUCT window window;
    i64 run, x_run, y_run, pixels, segment, segments; /* numbers of elements, and strides */
    i64 groups, blocks, outputs, rows;                /* numbers within a group: outputs, rows */
    i64 parts, tiles;                                 /* the number of parts of the rows, and of
                                                       * tiles in a part */
    i64 x_group, y_group;
    i64 w_group, w[5], piece; /* strides: output, channel, kernel */
};

/* Arguments of RESIZE, for images of two axes. */
struct resize_args {
    i64 at[BUFFERS]; /* offsets of x, y */
    i64 images, channels, in[2], out[2], x[4], y[4], piece;
    i32 is_nearest, sampling, last, reserved;
};

struct roi_args {
    i64 at[BUFFERS]; /* offsets of x, rois, y */
    i64 images, channels, regions, in[2], out[2], x[4], y[4], rois[2], group, piece;
    f32 scale;
    i32 last;
};

/* Arguments of im2col and col2im; y of the window is the columns. */
struct columns_args {
    i64 at[BUFFERS]; /* offsets of source and destination */
    STRUCT window window;
    i64 piece;
};

/*
 * Arguments for rows of a table: `places` is a walk over the index and the first axes of rows,
 * `row` over one row.
 */
struct table_args {
    i64 at[BUFFERS]; /* offsets of table, index, rows */
    STRUCT walk places, row;
    i64 table_rows, table_stride;
    i32 index_size, index_is_float; /* index_size: the size of an element of the index */
};

struct random_args {
    i64 at[BUFFERS];
    STRUCT walk walk;
    u64 seed, offset;
    i32 distribution, reserved;
    f32 a, b;
};

/* The number of `scalars`, which belong to a run, in the order of FERRY_OP_UPDATE's. */
#define UPDATE_SCALARS 7

struct update_args {
    i64 at[BUFFERS]; /* offsets of param, gradient, histories */
    STRUCT walk walk;
    i32 solver, histories;
    f32 scalars[UPDATE_SCALARS];
    i32 reserved;
};

/* Arguments for contiguous vectors, of which a group processes `piece` elements. */
struct sum_args {
    i64 at[BUFFERS]; /* offsets of x, y, sums of groups, number of completed groups, result */
    i64 count, piece, groups;
    i32 function, dtype;
};

struct convert_args {
    i64 at[BUFFERS]; /* offsets of x, y */
    i64 count, piece;
    i32 from, to;
};

/*
 * Arguments of a fill: words of eight bytes, and the elements before the words and from `after` on.
 */
struct fill_args {
    i64 at[BUFFERS]; /* offsets of y, and of its first word */
    i64 words, piece, before, after, count;
    u64 word, bits;
    i32 size, reserved; /* size: of an element, in bytes */
};

/*
 * Pixels that an item of `convolve` computes at once, with `lanes` vectors of outputs each: as many
 * as fit into the registers, of which there are 32 of 16 lanes and 16 of fewer.
 */
#define TILE_PIXELS(vec, lanes) \
    ((vec) >= 16 ? ((lanes) == 4 ? 6 : (lanes) == 2 ? 12 : 14) : (lanes) == 2 ? 6 : 8)

/* Pixels of a row that an item of `depthwise` computes at once: image widths are often 7 · 2^n. */
#define ROW_PIXELS 7

#endif
