/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log (log_param): the logarithm of shift + scale · x to the base; −1 is e. (Caffe: LogLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>
#include <math.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "log_param", 0);
    double base = ferry_proto_real(p, "base", 0), factor = base == -1 ? 1 : 1 / log(base);

    if (base != -1 && (!(base > 0) || base == 1))
        return ferry_proto_error(p, "base", 0, FERRY_EFORMAT, "layer \"%s\": a base of %g",
                                 ferry_layer_name(layer), base);
    return ferry__unary_layer(layer, FERRY_UNARY_LOG, ferry_proto_real(p, "scale", 0),
                              ferry_proto_real(p, "shift", 0), factor);
}

static const char *const messages[] = { "log_param", NULL };

const ferry_layer_type ferry__log_layer = {
    .struct_size = sizeof ferry__log_layer,
    .name = "Log",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
