/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Power (power_param): (shift + scale · x) ^ power. (Caffe: PowerLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "power_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_POWER, ferry_proto_real(p, "power", 0),
                              ferry_proto_real(p, "scale", 0), ferry_proto_real(p, "shift", 0));
}

static const char *const messages[] = { "power_param", NULL };

const ferry_layer_type ferry__power_layer = {
    .struct_size = sizeof ferry__power_layer,
    .name = "Power",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
