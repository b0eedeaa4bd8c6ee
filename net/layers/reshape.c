/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reshape (reshape_param): the axes from `axis` (0) on, num_axes (−1: all) of them, get the
 * dimensions of `shape`: 0 copies the bottom's dimension, −1 is inferred. The top shares the
 * bottom's memory. A negative axis counts from one past the last. (Caffe: ReshapeLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

/* The replaced axes of the bottom: first … end − 1. */
static int range_of(ferry_layer *layer, const ferry_proto *p, int *first, int *end)
{
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0));
    int64_t axis = ferry_proto_integer(p, "axis", 0), n = ferry_proto_integer(p, "num_axes", 0);

    if (axis < 0)
        axis += rank + 1;
    if (axis < 0 || axis > rank)
        return ferry_proto_error(
            p, "axis", 0, FERRY_ESHAPE, "layer \"%s\": axis is %lld, its bottom has %d axes",
            ferry_layer_name(layer), (long long)ferry_proto_integer(p, "axis", 0), rank);
    if (n < -1 || axis + (n < 0 ? 0 : n) > rank)
        return ferry_proto_error(p, "num_axes", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes from axis %lld on, its bottom has %d",
                                 ferry_layer_name(layer), (long long)n, (long long)axis, rank);
    *first = (int)axis;
    *end = n < 0 ? rank : (int)(axis + n);
    return 0;
}

/* Sets the dimensions of the top; *infer is the axis with −1, or −1. */
static int fill_dims(ferry_layer *layer, const ferry_proto *shape, int first, int end,
                     int64_t *dims, int *out_n, int *infer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int n = 0, i, given = (int)ferry_proto_value_count(shape, "dim");

    if (first + given + ferry_blob_rank(bottom) - end > 32)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its top would have more than 32 axes");
    for (i = 0; i < first; i++)
        dims[n++] = ferry_blob_dim(bottom, i);
    for (i = 0; i < given; i++) {
        int64_t dim = ferry_proto_integer(shape, "dim", i);

        if (dim < -1 || (dim == -1 && *infer >= 0) ||
            (dim == 0 && first + i >= ferry_blob_rank(bottom)))
            return ferry_proto_error(shape, "dim", i, FERRY_ESHAPE,
                                     "layer \"%s\": dim %d of its shape is %lld",
                                     ferry_layer_name(layer), i, (long long)dim);
        if (dim == -1)
            *infer = n;
        dims[n++] = dim == 0 ? ferry_blob_dim(bottom, first + i) : dim == -1 ? 1 : dim;
    }
    for (i = end; i < ferry_blob_rank(bottom); i++)
        dims[n++] = ferry_blob_dim(bottom, i);
    *out_n = n;
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "reshape_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t dims[64], count = 1;
    int first = 0, end = 0, n = 0, infer = -1, i, err = range_of(layer, p, &first, &end);

    if (!err)
        err = fill_dims(layer, ferry_proto_message(p, "shape", 0), first, end, dims, &n, &infer);
    if (err)
        return err;
    for (i = 0; i < n; i++)
        if (__builtin_mul_overflow(count, dims[i], &count))
            return ferry_layer_error(layer, FERRY_EOVERFLOW, "its shape does not fit 63 bits");
    if (infer >= 0 && (!count || ferry_blob_element_count(bottom) % count))
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "%lld elements cannot be divided into parts of %lld to infer the "
                                 "dim of −1",
                                 (long long)ferry_blob_element_count(bottom), (long long)count);
    if (infer >= 0)
        dims[infer] = ferry_blob_element_count(bottom) / count;
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), dims, n, NULL);
    return err ? err : ferry_layer_alias(layer, 0, 0);
}

static const char *const messages[] = { "reshape_param", NULL };

const ferry_layer_type ferry__reshape_layer = {
    .struct_size = sizeof ferry__reshape_layer,
    .name = "Reshape",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
