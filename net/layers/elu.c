/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELU (elu_param): x where it is positive, else alpha · (exp(x) − 1). (Caffe: ELULayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "elu_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_ELU, ferry_proto_real(p, "alpha", 0), 0, 0);
}

static const char *const messages[] = { "elu_param", NULL };

const ferry_layer_type ferry__elu_layer = {
    .struct_size = sizeof ferry__elu_layer,
    .name = "ELU",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
