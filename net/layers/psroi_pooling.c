/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSROIPooling (psroi_pooling_param): for each region in bottom 1 the averages of group_size ×
 * group_size bins, each over its own channels: output_dim · group_size² channels become output_dim.
 * (R-FCN: PSROIPoolingLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "psroi_pooling_param", 0);
    int64_t group = ferry_proto_integer(p, "group_size", 0);
    int64_t outputs = ferry_proto_integer(p, "output_dim", 0);

    if (group < 1 || group > 1024 || outputs < 1)
        return ferry_proto_error(p, outputs < 1 ? "output_dim" : "group_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": output_dim is %lld, group_size is %lld",
                                 ferry_layer_name(layer), (long long)outputs, (long long)group);
    return ferry__regions(layer, outputs, group, group, (uint32_t)group,
                          ferry_proto_real(p, "spatial_scale", 0));
}

static int backward(ferry_layer *layer)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "psroi_pooling_param", 0);

    return ferry_layer_propagates(layer, 0)
               ? ferry__regions_backward(layer, (uint32_t)ferry_proto_integer(p, "group_size", 0),
                                         ferry_proto_real(p, "spatial_scale", 0))
               : 0;
}

static const char *const messages[] = { "psroi_pooling_param", NULL };

const ferry_layer_type ferry__psroi_pooling_layer = {
    .struct_size = sizeof ferry__psroi_pooling_layer,
    .name = "PSROIPooling",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
    .backward = backward,
    .refuses = ferry__regions_refuse,
};
