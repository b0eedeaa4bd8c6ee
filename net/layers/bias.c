/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bias (bias_param): x plus a bias, whose shape is num_axes (1; −1: all, 0: a scalar) of the
 * bottom's axes from `axis` (1) on. The bias is a parameter or bottom 1. (Caffe: BiasLayer.)
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
    if (!err && ferry_layer_bottom_count(layer) == 1)
        err = ferry__span_declare(layer, span, ferry_proto_message(p, "filler", 0), 0);
    return err;
}

/*
 * Emits the bias's gradient, the sum of dy: it is added to a parameter's diff, and overwrites
 * bottom 1's diff.
 */
static int emit_backward(ferry_layer *layer, ferry_operand x, struct ferry__term u)
{
    struct ferry__term dy = { x, ferry__diff(ferry__of_top(0)) };
    struct ferry__term du = { u.o, ferry__diff(u.at) };
    ferry_op_desc op;
    int err = 0;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SUM;
    op.params.binary.a = op.params.binary.b = 1;
    if (u.at.from == FERRY_FROM_BOTTOM && ferry_layer_propagates(layer, 1))
        err = ferry__emit_sum(layer, 1, dy, du);
    else if (u.at.from == FERRY_FROM_PARAM && ferry_layer_param_propagates(layer, 0))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 1, &dy, du);
    if (!err && ferry_layer_propagates(layer, 0) && !ferry_layer_is_in_place(layer, 0))
        err = ferry__emit_scaled(layer, 1, dy,
                                 (struct ferry__term){ x, ferry__diff(ferry__of_bottom(0)) });
    return err;
}

static int reshape(ferry_layer *layer)
{
    struct ferry__span *span = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    bool two = ferry_layer_bottom_count(layer) > 1;
    ferry_layer_operand at;
    ferry_operand x, u;
    int err = ferry__span_fit(layer, span);

    if (!err)
        err = ferry__top_like(layer, 0, bottom);
    if (err)
        return err;
    x = ferry__span_image(bottom, span);
    u = ferry__span_operand(bottom, span);
    if (!two && ferry_blob_element_count(ferry_layer_param_at(layer, 0)) != u.shape[1])
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "the bias has %lld elements, not %lld",
            (long long)ferry_blob_element_count(ferry_layer_param_at(layer, 0)),
            (long long)u.shape[1]);
    at = two ? ferry__of_bottom(1) : ferry__of_param(0);
    err = ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, x, ferry__of_bottom(0), u, at, x,
                             ferry__of_top(0));
    return err ? err : emit_backward(layer, x, (struct ferry__term){ u, at });
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
    .flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
