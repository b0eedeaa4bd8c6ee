/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AbsVal: |x|. (Caffe: AbsValLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    return ferry__unary_layer(layer, FERRY_UNARY_ABS, 0, 0, 0);
}

const ferry_layer_type ferry__abs_val_layer = {
    .struct_size = sizeof ferry__abs_val_layer,
    .name = "AbsVal",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .reshape = reshape,
};
