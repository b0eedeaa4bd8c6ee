/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sigmoid: 1 / (1 + exp(−x)). (Caffe: SigmoidLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    return ferry__unary_layer(layer, FERRY_UNARY_SIGMOID, 0, 0, 0);
}

static const char *const messages[] = { "sigmoid_param", NULL };

const ferry_layer_type ferry__sigmoid_layer = {
    .struct_size = sizeof ferry__sigmoid_layer,
    .name = "Sigmoid",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
