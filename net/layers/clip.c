/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clip (clip_param): x, but at least min and at most max. (Caffe: ClipLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "clip_param", 0);

    return ferry__unary_layer(layer, FERRY_UNARY_CLIP, ferry_proto_real(p, "min", 0),
                              ferry_proto_real(p, "max", 0), 0);
}

static const char *const messages[] = { "clip_param", NULL };

const ferry_layer_type ferry__clip_layer = {
    .struct_size = sizeof ferry__clip_layer,
    .name = "Clip",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
