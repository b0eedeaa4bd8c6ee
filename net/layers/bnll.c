/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BNLL: log(1 + exp(x)). (Caffe: BNLLLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    return ferry__unary_layer(layer, FERRY_UNARY_BNLL, 0, 0, 0);
}

const ferry_layer_type ferry__bnll_layer = {
    .struct_size = sizeof ferry__bnll_layer,
    .name = "BNLL",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .reshape = reshape,
};
