/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exp (exp_param): base ^ (shift + scale · x); a base of −1 is e. (Caffe: ExpLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>
#include <math.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "exp_param", 0);
    double base = ferry_proto_real(p, "base", 0), log_base = base == -1 ? 1 : log(base);

    if (base != -1 && !(base > 0))
        return ferry_proto_error(p, "base", 0, FERRY_EFORMAT, "layer \"%s\": a base of %g",
                                 ferry_layer_name(layer), base);
    return ferry__unary_layer(layer, FERRY_UNARY_EXP, log_base * ferry_proto_real(p, "scale", 0),
                              log_base * ferry_proto_real(p, "shift", 0), 0);
}

static const char *const messages[] = { "exp_param", NULL };

const ferry_layer_type ferry__exp_layer = {
    .struct_size = sizeof ferry__exp_layer,
    .name = "Exp",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};
