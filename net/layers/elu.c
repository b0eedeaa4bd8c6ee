/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELU (elu_param): x where it is positive, else alpha · (exp(x) − 1). (Caffe: ELULayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

/* Of the layer's own blobs. */
enum { INPUT, MIRRORED };

static int emit_slope(ferry_layer *layer, uint32_t function, double a, struct ferry__term dy,
                      struct ferry__term by)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = function;
    op.params.unary.a = a;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 2,
                            (struct ferry__term[]){ dy, by },
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

/*
 * With alpha < 0 the result is positive on both sides of 0 and does not say on which x was: the gradient is that of
 * -alpha, whose result does, with the other sign where x is not positive.
 */
static int emit_negative(ferry_layer *layer, double alpha)
{
    const struct ferry__term dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    const struct ferry__term dx = ferry__term(layer, ferry__diff(ferry__of_bottom(0)));
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand x, mirrored = ferry__diff(ferry__of_scratch(MIRRORED));
    int err = ferry__input_kept(layer, INPUT, &x);

    if (!err)
        err = ferry__emit_unary(layer, FERRY_UNARY_ELU, alpha, 0, 0, ferry__of_bottom(0),
                                ferry__of_top(0));
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    if (!ferry_layer_scratch(layer, MIRRORED, 0, ferry_blob_shape(bottom), ferry_blob_rank(bottom)))
        return ferry_last_error_code();
    err = ferry__emit_unary(layer, FERRY_UNARY_ELU, -alpha, 0, 0, x, mirrored);
    if (!err)
        err = emit_slope(layer, FERRY_UNARY_ELU, -alpha, dy, ferry__term(layer, mirrored));
    return err ? err : emit_slope(layer, FERRY_UNARY_RELU, -1, dx, ferry__term(layer, x));
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "elu_param", 0);
    double alpha = ferry_proto_real(p, "alpha", 0);
    int err;

    if (alpha >= 0)
        return ferry__unary_layer(layer, FERRY_UNARY_ELU, alpha, 0, 0);
    err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));
    return err ? err : emit_negative(layer, alpha);
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
