/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crop (crop_param): bottom 0 cropped to bottom 1's size in the axes from `axis` (2) on, starting
 * at `offset`: one value for each axis, one for all, or 0. (Caffe: CropLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/* The region of bottom 0 that is kept, and its offset. */
static int cut(ferry_layer *layer, struct ferry__region *out, int64_t *out_offset)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "crop_param", 0);
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *like = ferry_layer_bottom_at(layer, 1);
    int rank = ferry_blob_rank(x), first, i, err;
    int64_t offsets = ferry_proto_value_count(p, "offset");

    if (ferry_blob_rank(like) < rank) /* axes that bottom 1 lacks are not cropped, as in Caffe */
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottom 0 has %d axes, bottom 1 only %d",
                                 rank, ferry_blob_rank(like));
    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &first);
    if (err)
        return err;
    if (offsets > 1 && offsets != rank - first)
        return ferry_proto_error(p, "offset", 0, FERRY_EFORMAT,
                                 "layer \"%s\": %lld offsets for %d axes", ferry_layer_name(layer),
                                 (long long)offsets, rank - first);
    *out_offset = 0;
    out->axes = rank;
    for (i = 0; i < rank; i++) {
        int given = offsets > 1 ? i - first : 0;
        int64_t from = i >= first && offsets ? ferry_proto_integer(p, "offset", given) : 0;
        int64_t size = ferry_blob_dim(i < first ? x : like, i);

        if (from < 0 || from > ferry_blob_dim(x, i) - size)
            return ferry_layer_error(
                layer, FERRY_ESHAPE, "%lld elements from %lld on of axis %d, which has %lld",
                (long long)size, (long long)from, i, (long long)ferry_blob_dim(x, i));
        out->shape[i] = size;
        out->step_x[i] = ferry_blob_element_count_range(x, i + 1, rank);
        *out_offset += from * out->step_x[i];
    }
    return 0;
}

static int reshape(ferry_layer *layer)
{
    struct ferry__region r;
    int64_t offset = 0;
    int err = cut(layer, &r, &offset);

    return err ? err : ferry__emit_cut(layer, &r, offset);
}

static const char *const messages[] = { "crop_param", NULL };

const ferry_layer_type ferry__crop_layer = {
    .struct_size = sizeof ferry__crop_layer,
    .name = "Crop",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .reshape = reshape,
};
