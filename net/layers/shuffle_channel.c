/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ShuffleChannel (shuffle_channel_param): channel g·n + i becomes i·group + g, where n = C / group.
 * (Forks for ShuffleNet.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "shuffle_channel_param", 0);
    int64_t group = ferry_proto_integer(p, "group", 0), channels, places;
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int err = ferry__top_like(layer, 0, bottom);
    ferry_operand x, y;

    if (err)
        return err;
    if (ferry_blob_rank(bottom) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, at least 2 are required",
                                 ferry_blob_rank(bottom));
    channels = ferry_blob_dim(bottom, 1);
    if (group < 1 || channels % group)
        return ferry_proto_error(p, "group", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld groups of %lld channels",
                                 ferry_layer_name(layer), (long long)group, (long long)channels);
    places = ferry_blob_element_count_range(bottom, 2, ferry_blob_rank(bottom));
    y = ferry_operand_make(
        FERRY_F32, (int64_t[]){ ferry_blob_dim(bottom, 0), channels / group, group, places }, 4,
        NULL);
    x = y;
    x.stride[1] = places;
    x.stride[2] = channels / group * places;
    err = ferry__emit_copy(layer, x, ferry__of_bottom(0), y, ferry__of_top(0));
    return err || !ferry_layer_propagates(layer, 0)
               ? err
               : ferry__emit_copy(layer, y, ferry__diff(ferry__of_top(0)), x,
                                  ferry__diff(ferry__of_bottom(0)));
}

static const char *const messages[] = { "shuffle_channel_param", NULL };

const ferry_layer_type ferry__shuffle_channel_layer = {
    .struct_size = sizeof ferry__shuffle_channel_layer,
    .name = "ShuffleChannel",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
