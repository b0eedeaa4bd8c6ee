/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes that become constants: their inputs are constants or shapes of values. */
#ifndef FERRY_NET_IMPORT_FOLD_H
#define FERRY_NET_IMPORT_FOLD_H

#include "net/import/build.h"

/*
 * Folds the current node and sets its outputs. False if it cannot be folded: an input is not
 * constant, or fold.c does not support its operator.
 */
bool ferry__import_fold(struct ferry__import *im);

/* ---- elements by strides (fold_view.c) ---- */

/* A view of a tensor: element (i0, i1, …) of `shape` is at start + i0·step[0] + … */
struct ferry__import_view {
    const struct ferry__import_tensor *t;
    struct ferry__import_shape shape;
    int64_t start, step[FERRY_OP_AXES];
};

/* A view of a whole tensor, in its own shape. */
struct ferry__import_view ferry__import_view_of(const struct ferry__import_tensor *t);
/* Broadcasts the view to a shape; fails if the shapes do not match. */
struct ferry__import_view ferry__import_view_as(struct ferry__import *im,
                                                const struct ferry__import_tensor *t,
                                                const struct ferry__import_shape *shape);
/* The index in the tensor of the view's element i, in row-major order. */
int64_t ferry__import_view_at(const struct ferry__import_view *v, int64_t i);
/* Copies the view's elements into a tensor of type FLOAT or INT64. */
struct ferry__import_tensor ferry__import_view_copy(struct ferry__import *im,
                                                    const struct ferry__import_view *v);

/* Creates a tensor of type FLOAT or INT64; above 64 MiB it fails, and *out_elements is NULL. */
struct ferry__import_tensor ferry__import_make(struct ferry__import *im, int type,
                                               const struct ferry__import_shape *shape,
                                               void **out_elements);
/* The shape of two tensors broadcast together; fails if they do not match. */
struct ferry__import_shape ferry__import_broadcast(struct ferry__import *im,
                                                   const struct ferry__import_shape *a,
                                                   const struct ferry__import_shape *b);

/* ---- shapes that nodes describe (shapes.c) ---- */

/*
 * For Reshape, Flatten, Squeeze and Unsqueeze: the shape of the current node's output for an input
 * of shape `from`.
 */
struct ferry__import_shape ferry__import_reshaped(struct ferry__import *im,
                                                  const struct ferry__import_shape *from);

/* For Slice: for each axis the first element and the step; the result's shape. */
struct ferry__import_shape ferry__import_sliced(struct ferry__import *im,
                                                const struct ferry__import_shape *from,
                                                int64_t *start, int64_t *step);

/* For Transpose: the order of the axes. */
void ferry__import_order(struct ferry__import *im, int rank, int64_t *order);

#endif
