/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ReLU (relu_param): max(x, 0) + negative_slope · min(x, 0). (Caffe: ReLULayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "relu_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_RELU, ferry_proto_real(p, "negative_slope", 0), 0,
                              0);
}

static const char *const messages[] = { "relu_param", NULL };

const ferry_layer_type ferry__relu_layer = {
    .struct_size = sizeof ferry__relu_layer,
    .name = "ReLU",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
