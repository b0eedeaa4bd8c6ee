/* SPDX-License-Identifier: BSD-2-Clause */
/* Tile (tile_param): the bottom repeated `tiles` times along `axis` (1). (Caffe: TileLayer.) */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "tile_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t tiles = ferry_proto_integer(p, "tiles", 0), shape[32];
    int rank = ferry_blob_rank(bottom), axis, i, err;
    ferry_operand x, y;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &axis);
    if (err)
        return err;
    if (tiles < 1)
        return ferry_proto_error(p, "tiles", 0, FERRY_EFORMAT, "layer \"%s\": %lld tiles",
                                 ferry_layer_name(layer), (long long)tiles);
    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    if (__builtin_mul_overflow(shape[axis], tiles, &shape[axis]))
        return ferry_layer_error(layer, FERRY_EOVERFLOW, "%lld tiles do not fit 63 bits",
                                 (long long)tiles);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
    if (err || !ferry_blob_element_count(bottom))
        return err;
    /* x as outer × tiles × (axis and the axes after it): the bottom has stride 0 along the tiles */
    x = ferry_operand_make(FERRY_F32,
                           (int64_t[]){ ferry_blob_element_count_range(bottom, 0, axis), tiles,
                                        ferry_blob_element_count_range(bottom, axis, rank) },
                           3, NULL);
    y = x;
    x.stride[1] = tiles > 1 ? 0 : x.stride[1];
    x.stride[0] = x.shape[2];
    err = ferry__emit_copy(layer, x, ferry__of_bottom(0), y, ferry__of_top(0));
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    x = ferry_operand_make(FERRY_F32, (int64_t[]){ x.shape[0], 1, x.shape[2] }, 3, NULL);
    return ferry__emit_sum(layer, 1, (struct ferry__term){ y, ferry__diff(ferry__of_top(0)) },
                           (struct ferry__term){ x, ferry__diff(ferry__of_bottom(0)) });
}

static const char *const messages[] = { "tile_param", NULL };

const ferry_layer_type ferry__tile_layer = {
    .struct_size = sizeof ferry__tile_layer,
    .name = "Tile",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
