/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operators whose form depends on the operator set, or that take constants as inputs. Each function
 * returns the value of the new node.
 */
#ifndef FERRY_NET_ONNX_OPS_H
#define FERRY_NET_ONNX_OPS_H

#include "net/onnx/graph.h"

/*
 * Reshapes; dims may contain one −1 and zeros, as in Reshape. With a dynamic batch the first dim is
 * inferred, so that the others must not depend on the batch.
 */
int ferry__onnx_reshape_to(struct ferry__onnx *o, int x, int rank, const int64_t *dims);
/* Reshapes to the shape of a blob. */
int ferry__onnx_reshape_as(struct ferry__onnx *o, int x, const ferry_blob *b);

int ferry__onnx_cast(struct ferry__onnx *o, int x, enum ferry__onnx_type type);
int ferry__onnx_transpose(struct ferry__onnx *o, int x, int rank, const int64_t *order);
int ferry__onnx_concat_of(struct ferry__onnx *o, int axis, int n, const int *in);
int ferry__onnx_gather(struct ferry__onnx *o, int x, int index, int axis);

/* Removes or inserts axes. */
int ferry__onnx_squeeze(struct ferry__onnx *o, int x, int axis);
int ferry__onnx_unsqueeze(struct ferry__onnx *o, int x, int n, const int64_t *axes);

/* Adds "ReduceSum", "ReduceMean" … over n axes, which keep length 1 with `keep`. */
int ferry__onnx_reduce(struct ferry__onnx *o, const char *type, int x, int n, const int64_t *axes,
                       bool keep);

/* Takes elements first … end − 1 of one axis; end may be INT64_MAX. */
int ferry__onnx_slice_of(struct ferry__onnx *o, int x, int axis, int64_t first, int64_t end);
/* Takes such ranges of several axes. */
int ferry__onnx_slices(struct ferry__onnx *o, int x, int n, const int64_t *axes,
                       const int64_t *first, const int64_t *end);
/* A constant with that shape and one value in all elements. */
int ferry__onnx_filled(struct ferry__onnx *o, double value, int rank, const int64_t *dims);

/* Reverses an axis. */
int ferry__onnx_reverse(struct ferry__onnx *o, int x, int axis);

/* Pads with zeros; `pads` are the n beginnings, then the n ends. */
int ferry__onnx_pad(struct ferry__onnx *o, int x, int n, const int64_t *pads);

/* Clips to least … most. */
int ferry__onnx_clip_to(struct ferry__onnx *o, int x, double least, double most);

/* Adds "Softmax" or "LogSoftmax" over one of `rank` axes. */
int ferry__onnx_softmax_of(struct ferry__onnx *o, const char *type, int x, int rank, int axis);

/*
 * Takes the k largest values of an axis in descending order; *out_index gets their indices. k is a
 * value of shape (1).
 */
int ferry__onnx_top_k(struct ferry__onnx *o, int x, int k, int axis, int *out_index);

/* Computes factor · x + term for all channels, without operators that have no effect. */
int ferry__onnx_scaled(struct ferry__onnx *o, int x, double factor, double term);

/* Computes x to a constant power. */
int ferry__onnx_raised(struct ferry__onnx *o, int x, double power);

#endif
