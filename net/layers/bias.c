/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bias (bias_param): x plus a term, which has the bottom's axes from `axis` (1) on, num_axes (1; −1:
 * all, 0: a scalar) of them, and is a parameter or bottom 1. (Caffe: BiasLayer.)
 */
#include "net/layers/scale.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    struct ferry__span *span = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "bias_param", 0);
    int err = ferry__span_read(layer, p, span);

    if (!err)
        err = ferry__span_fit(layer, span);
    if (!err && ferry_layer_n_bottoms(layer) == 1)
        err = ferry__span_declare(layer, span, ferry_proto_message(p, "filler", 0), 0);
    return err;
}

static int reshape(ferry_layer *layer)
{
    struct ferry__span *span = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom(layer, 0);
    bool two = ferry_layer_n_bottoms(layer) > 1;
    ferry_operand x, u;
    int err = ferry__span_fit(layer, span);

    if (!err)
        err = ferry__top_like(layer, 0, bottom);
    if (err)
        return err;
    x = ferry__span_image(bottom, span);
    u = ferry__span_operand(bottom, span);
    if (!two && ferry_blob_count(ferry_layer_param_at(layer, 0)) != u.shape[1])
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld terms for %lld",
                                 (long long)ferry_blob_count(ferry_layer_param_at(layer, 0)),
                                 (long long)u.shape[1]);
    return ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, x, ferry__of_bottom(0), u,
                              two ? ferry__of_bottom(1) : ferry__of_param(0), x, ferry__of_top(0));
}

static const char *const messages[] = { "bias_param", NULL };

const ferry_layer_type ferry__bias_layer = {
    .struct_size = sizeof ferry__bias_layer,
    .name = "Bias",
    .state_size = sizeof(struct ferry__span),
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
