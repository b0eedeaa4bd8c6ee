/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scale (scale_param): x times a factor, whose shape is num_axes (1; −1: all, 0: a scalar) of the
 * bottom's axes from `axis` (1) on. The factor is a parameter or bottom 1; with bias_term a bias of
 * the same shape is added. (Caffe: ScaleLayer.)
 */
#include "net/layers/scale.h"

#include <ferry/status.h>

struct scale {
    struct ferry__span span;
    bool bias;
};

static int setup(ferry_layer *layer)
{
    struct scale *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "scale_param", 0);
    const ferry_proto *filler = NULL;
    int err = ferry__span_read(layer, p, &s->span);

    s->bias = ferry_proto_boolean(p, "bias_term", 0);
    if (!err)
        err = ferry__span_fit(layer, &s->span);
    if (!err && ferry_layer_bottom_count(layer) == 1) {
        if (ferry_proto_value_count(p, "filler"))
            filler = ferry_proto_message(p, "filler", 0);
        err = ferry__span_declare(layer, &s->span, filler, 1);
    }
    if (!err && s->bias)
        err = ferry__span_declare(layer, &s->span, ferry_proto_message(p, "bias_filler", 0), 0);
    return err;
}

/*
 * Emits the factor's gradient. It is added to a parameter's diff; but, as in Caffe, it overwrites
 * the diff if there are no axes before the factor's to sum over, or no axes to sum over at all. It
 * overwrites bottom 1's diff.
 */
static int emit_factor(ferry_layer *layer, bool two, struct ferry__term dy, struct ferry__term x,
                       struct ferry__term du)
{
    struct ferry__term product = { x.o, ferry__diff(ferry__of_scratch(1)) };
    int64_t outer = x.o.shape[0], wide = x.o.shape[1], inner = x.o.shape[2];
    int64_t count = outer * wide * inner;
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_PRODUCT;
    if (outer == 1 && inner == 1)
        return ferry__emit_product(layer, dy, x, du);
    if (!two && (outer > 1 || wide == 1))
        return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                                (struct ferry__term[]){ dy, x }, du);
    if (!ferry_layer_scratch(layer, 1, 0, &count, 1))
        return ferry_last_error_code();
    err = ferry__emit_product(layer, dy, x, product);
    return err ? err : ferry__emit_sum(layer, 1, product, du);
}

/* Emits the gradients. Those that sum over dy come first, because in place dx overwrites dy. */
static int emit_backward(ferry_layer *layer, const struct scale *s, const ferry_op_desc *op,
                         struct ferry__term x, struct ferry__term u)
{
    bool two = u.at.from == FERRY_FROM_BOTTOM;
    struct ferry__term dy = { x.o, ferry__diff(ferry__of_top(0)) };
    int bias = two ? 0 : 1, err = 0;

    if (s->bias && ferry_layer_param_propagates(layer, bias))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               (struct ferry__term){ u.o, ferry__diff(ferry__of_param(bias)) });
    if (!err && (two ? ferry_layer_propagates(layer, 1) : ferry_layer_param_propagates(layer, 0)))
        err = emit_factor(layer, two, dy, x, (struct ferry__term){ u.o, ferry__diff(u.at) });
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_product(layer, dy, u,
                                  (struct ferry__term){ x.o, ferry__diff(ferry__of_bottom(0)) });
    return err;
}

static int reshape(ferry_layer *layer)
{
    struct scale *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    bool two = ferry_layer_bottom_count(layer) > 1;
    ferry_layer_operand in[3], out[1], factor = two ? ferry__of_bottom(1) : ferry__of_param(0);
    struct ferry__term kept;
    ferry_operand x, u;
    ferry_op_desc op;
    int err = ferry__span_fit(layer, &s->span);

    if (!err)
        err = ferry__top_like(layer, 0, bottom);
    if (err)
        return err;
    x = ferry__span_image(bottom, &s->span);
    u = ferry__span_operand(bottom, &s->span);
    if (!two && ferry_blob_element_count(ferry_layer_param_at(layer, 0)) != u.shape[1])
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "the parameter has %lld factors, not %lld",
            (long long)ferry_blob_element_count(ferry_layer_param_at(layer, 0)),
            (long long)u.shape[1]);
    kept.o = x;
    err = ferry__input_kept(layer, 0, &kept.at);
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SCALE;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_in(&op, in, u, factor);
    if (s->bias)
        ferry__op_in(&op, in, u, ferry__of_param(two ? 0 : 1));
    ferry__op_out(&op, out, x, ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : emit_backward(layer, s, &op, kept, (struct ferry__term){ u, factor });
}

static const char *const messages[] = { "scale_param", NULL };

const ferry_layer_type ferry__scale_layer = {
    .struct_size = sizeof ferry__scale_layer,
    .name = "Scale",
    .state_size = sizeof(struct scale),
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
