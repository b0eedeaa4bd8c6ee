/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Swish (swish_param): x / (1 + exp(−beta · x)). (Caffe: SwishLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "swish_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_SWISH, ferry_proto_real(p, "beta", 0), 0, 0);
}

static const char *const messages[] = { "swish_param", NULL };

const ferry_layer_type ferry__swish_layer = {
    .struct_size = sizeof ferry__swish_layer,
    .name = "Swish",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
