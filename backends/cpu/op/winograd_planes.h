/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * F(2 × 2, 3 × 3) of winograd.h for row-major images: the tiles of a block are the columns of a
 * matrix for each of 16 points, and channels are its rows, so that all transforms go along lines.
 * The forward pass and the gradients of x and of the weights share the transform of patches.
 */
#ifndef FERRY_CPU_OP_WINOGRAD_PLANES_H
#define FERRY_CPU_OP_WINOGRAD_PLANES_H

#include "op.h"

#define WINOGRAD_PLANES_POINTS 16

/* Planes that are divided into tiles, and the sizes of a thread's buffers, in floats. */
struct cpu_winograd_planes {
    const struct cpu_loops *loops;
    int64_t size[2], pad[2];    /* of a plane, whose pixels of a line are contiguous */
    int64_t image, row;         /* the strides of the images and of the lines of a plane */
    int64_t lines, line;        /* tile lines of a plane, and tiles of a tile line */
    int64_t pitch, lines_floats; /* of the buffer of lines, and its size */
    int64_t h_row;              /* from the tiles of a point to those of the next */
};

/* Whether the shape and the flags of a convolution, or of its gradient of weights, permit tiles. */
bool cpu_winograd_planes_fit(const struct cpu_op *p, const struct cpu_window *w);
/* The cost, in multiplications, below which tiles are faster than a product of F32 without them. */
double cpu_winograd_planes_limit(const struct cpu_window *w);
/* The planes of x (the patches of its tiles), or of y (the tiles), for blocks of `lines` lines. */
struct cpu_winograd_planes cpu_winograd_planes_of(const struct cpu_op *p,
                                                  const struct cpu_window *w, bool is_y,
                                                  int64_t lines);
/* Clears the buffer of lines, once before any number of calls of the two functions below. */
void cpu_winograd_planes_begin(const struct cpu_winograd_planes *s, float *lines);
/*
 * Transforms the patches under tile lines first … first + count − 1, counted over all images, of
 * one channel of x along lines. h has 16 rows of tiles: loops->winograd_down completes them.
 */
void cpu_winograd_planes_across(const struct cpu_winograd_planes *s, const float *x, int64_t first,
                                int64_t count, float *lines, float *h);
/* Transforms the tiles of one channel of dy, for the gradient of the weights, to 16 points. */
void cpu_winograd_planes_give(const struct cpu_winograd_planes *s, const float *dy, int64_t first,
                              int64_t count, float *lines, float *d, int64_t d_point);

/* The convolution itself, forward or as the gradient of x: a method of convolution.c. */
bool cpu_winograd_planes_can(const struct cpu_op *p);
void cpu_winograd_planes_plan(struct cpu_op *p);
void cpu_winograd_planes_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                              float *packed);
void cpu_winograd_planes_run(struct cpu_device *d, const struct cpu_op *p,
                             const struct cpu_op_args *args);

/* The gradient of the weights (winograd_weights.c); `plan` returns false if it is not faster. */
bool cpu_winograd_weights_plan(struct cpu_op *p);
void cpu_winograd_weights_run(struct cpu_device *d, const struct cpu_op *p, float *workspace,
                              const float *x, const float *dy, float *dw);

#endif
