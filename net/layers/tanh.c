/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TanH: the hyperbolic tangent. (Caffe: TanHLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    return ferry__unary_layer(layer, FERRY_UNARY_TANH, 0, 0, 0);
}

static const char *const messages[] = { "tanh_param", NULL };

const ferry_layer_type ferry__tanh_layer = {
    .struct_size = sizeof ferry__tanh_layer,
    .name = "TanH",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
