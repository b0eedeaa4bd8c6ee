/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ReLU6: x, but at least 0 and at most 6. (Forks for MobileNet.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    return ferry__unary_layer(layer, FERRY_UNARY_CLIP, 0, 6, 0);
}

static const char *const messages[] = { "relu6_param", NULL };

const ferry_layer_type ferry__relu6_layer = {
    .struct_size = sizeof ferry__relu6_layer,
    .name = "ReLU6",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
