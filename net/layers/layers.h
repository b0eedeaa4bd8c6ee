/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ferry's own layer types, one file each, and the functions that those files share. Functions that
 * emit operations are in emit.h.
 */
#ifndef FERRY_NET_LAYERS_LAYERS_H
#define FERRY_NET_LAYERS_LAYERS_H

#include <ferry/layer.h>
#include <stdbool.h>

/* ferry's own types, by index from 0 on; NULL after the last. */
const ferry_layer_type *ferry__layer_at(int index);

/* The types of unary.c; an entry without a name ends the list. */
extern const ferry_layer_type ferry__unary_layers[];

/* A Split whose tops have diffs of their own. */
extern const ferry_layer_type ferry__split_layer;

/* ---- fake quantisation ---- */

/* A type of nets with the option `fake_quantize` (net/model/fake.h), which texts cannot name. */
extern const ferry_layer_type ferry__fake_quantize_layer;

/*
 * The grid of a FakeQuantize's bottom: values are scale times a whole number from least to most.
 * False: it is not rounded. (net/model/fake.c)
 */
bool ferry__layer_grid(const ferry_layer *layer, double *out_scale, double *out_least,
                       double *out_most);

/* Whether a layer computes with rounded weights. (net/model/fake.c) */
bool ferry__layer_rounds_weights(const ferry_layer *layer);

/* ---- shapes (shared.c) ---- */

/* Gives top `top` the shape of a blob. */
int ferry__top_like(ferry_layer *layer, int top, const ferry_blob *b);

/*
 * Reports FERRY_ESHAPE with both shapes: bottoms `index` and `other` do not match; `differ` says
 * how.
 */
int ferry__bottoms_differ(ferry_layer *layer, int index, int other, const char *differ);

/*
 * Reads an axis of `rank`, counted from the end if it is negative; FERRY_EFORMAT, with the field's
 * position.
 */
int ferry__axis_of(const ferry_layer *layer, const ferry_proto *p, const char *field, int64_t axis,
                   int rank, int *out);

/* ---- orders ---- */

/*
 * A comparison for qsort: the larger value first. NaN counts as larger than every number, so that
 * the order is total.
 */
static inline int ferry__descending(float a, float b)
{
    if (a != a || b != b)
        return (b != b) - (a != a);
    return (a < b) - (a > b);
}

/* ---- files (shared.c) ---- */

/*
 * The path of a file or folder: `path` if it exists, otherwise relative to the folder of the file
 * `namer`; the caller frees it. FERRY_EIO names both places if neither exists; FERRY_ENOMEM.
 */
int ferry__find_file(const char *path, const char *namer, char **out);

/*
 * The path of the file that a field names, relative to the working directory or else to the net's
 * text; the caller frees it. FERRY_EFORMAT if the field is missing.
 */
int ferry__file_of(const ferry_layer *layer, const ferry_proto *p, const char *field, char **out);

#endif
