/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flatten (flatten_param): merges the axes from `axis` (1) to end_axis (−1) into one; the top
 * shares the bottom's memory. (Caffe: FlattenLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "flatten_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), first, last, n = 0, i, err;
    int64_t shape[33];

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &first);
    if (!err)
        err = ferry__axis_of(layer, p, "end_axis", ferry_proto_integer(p, "end_axis", 0), rank,
                             &last);
    if (err)
        return err;
    for (i = 0; i < first; i++)
        shape[n++] = ferry_blob_dim(bottom, i);
    shape[n++] = ferry_blob_element_count_range(bottom, first, last < first ? first : last + 1);
    for (i = last + 1; i < rank; i++)
        shape[n++] = ferry_blob_dim(bottom, i);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, n, NULL);
    return err ? err : ferry_layer_alias(layer, 0, 0);
}

static const char *const messages[] = { "flatten_param", NULL };

const ferry_layer_type ferry__flatten_layer = {
    .struct_size = sizeof ferry__flatten_layer,
    .name = "Flatten",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
