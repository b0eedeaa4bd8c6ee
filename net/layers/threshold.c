/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threshold (threshold_param): 1 where x is greater than threshold, else 0. (Caffe: ThresholdLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "threshold_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_THRESHOLD, ferry_proto_real(p, "threshold", 0), 0,
                              0);
}

static const char *const messages[] = { "threshold_param", NULL };

const ferry_layer_type ferry__threshold_layer = {
    .struct_size = sizeof ferry__threshold_layer,
    .name = "Threshold",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .reshape = reshape,
};
