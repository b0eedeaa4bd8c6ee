/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InnerProduct (inner_product_param): y = x·wᵀ + b over all axes from `axis` (1) on. num_output,
 * bias_term, transpose: w is (K, N) instead of (N, K). (Caffe: InnerProductLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

struct inner_product {
    int axis;
    int64_t outputs, inputs;
    bool bias, transpose;
};

static int setup(ferry_layer *layer)
{
    struct inner_product *s = ferry_layer_state(layer);
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "inner_product_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[2];
    ferry_layer_param param = { .struct_size = sizeof param, .shape = shape };
    int err;

    s->outputs = ferry_proto_integer(p, "num_output", 0);
    s->bias = ferry_proto_boolean(p, "bias_term", 0);
    s->transpose = ferry_proto_boolean(p, "transpose", 0);
    if (s->outputs < 1)
        return ferry_proto_error(p, "num_output", 0, FERRY_EFORMAT,
                                 "layer \"%s\": num_output is %lld", ferry_layer_name(layer),
                                 (long long)s->outputs);
    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(bottom), &s->axis);
    if (err)
        return err;
    s->inputs = ferry_blob_element_count_range(bottom, s->axis, ferry_blob_rank(bottom));
    shape[0] = s->transpose ? s->inputs : s->outputs;
    shape[1] = s->transpose ? s->outputs : s->inputs;
    param.rank = 2;
    param.lr_mult = param.decay_mult = 1;
    param.filler = ferry_proto_message(p, "weight_filler", 0);
    err = ferry_layer_declare_param(layer, &param);
    if (err || !s->bias)
        return err;
    shape[0] = s->outputs;
    param.rank = 1;
    param.filler = ferry_proto_message(p, "bias_filler", 0);
    return ferry_layer_declare_param(layer, &param);
}

/*
 * A blob as an operand: the axes before `axis` merged into one, and the later axes unchanged if the
 * operation supports that many.
 */
static ferry_operand rows(const ferry_blob *b, const struct inner_product *s)
{
    int64_t shape[FERRY_OP_AXES];
    int rank = ferry_blob_rank(b), i;

    shape[0] = ferry_blob_element_count_range(b, 0, s->axis);
    shape[1] = s->inputs;
    if (rank - s->axis + 1 > 4)
        return ferry_operand_make(FERRY_F32, shape, 2, NULL);
    for (i = s->axis; i < rank; i++)
        shape[i - s->axis + 1] = ferry_blob_dim(b, i);
    return ferry_operand_make(FERRY_F32, shape, rank - s->axis + 1, NULL);
}

static int emit_backward(ferry_layer *layer, const struct inner_product *s, const ferry_op_desc *op,
                         ferry_layer_operand weights)
{
    struct ferry__term dy = { op->out[0], ferry__diff(ferry__of_top(0)) };
    struct ferry__term x = { op->in[0], ferry__of_bottom(0) }, dx = x;
    struct ferry__term w = { op->in[1], weights }, dw = { op->in[1], ferry__of_param(0) };
    int err = 0;

    dx.at.diff = dw.at.diff = 1;
    if (s->bias && ferry_layer_param_propagates(layer, 1))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               ferry__term(layer, ferry__diff(ferry__of_param(1))));
    if (!err && ferry_layer_param_propagates(layer, 0))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ dy, x }, dw);
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_DATA, 2,
                               (struct ferry__term[]){ dy, w }, dx);
    return err;
}

static int emit(ferry_layer *layer, const struct inner_product *s)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_operand weights = ferry__whole(layer, ferry__of_param(0)), w = weights;
    int64_t shape[2] = { ferry_blob_element_count_range(bottom, 0, s->axis), s->outputs };
    ferry_layer_operand in[3], out[1], from;
    ferry_op_desc op;
    int err = ferry__weights_rounded(layer, 0, s->transpose ? 1 : 0, &from);

    if (err)
        return err;

    if (s->transpose) {
        w.shape[0] = weights.shape[1];
        w.shape[1] = weights.shape[0];
        w.stride[0] = weights.stride[1];
        w.stride[1] = weights.stride[0];
    }
    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    ferry__op_in(&op, in, rows(bottom, s), ferry__of_bottom(0));
    ferry__op_in(&op, in, w, from);
    if (s->bias)
        ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(1)), ferry__of_param(1));
    ferry__op_out(&op, out, ferry_operand_make(FERRY_F32, shape, 2, NULL), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : emit_backward(layer, s, &op, from);
}

static int reshape(ferry_layer *layer)
{
    const struct inner_product *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[32], inputs;
    int rank = ferry_blob_rank(bottom), i, err;

    if (rank <= s->axis)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, the layer was set up for more", rank);
    inputs = ferry_blob_element_count_range(bottom, s->axis, rank);
    if (inputs != s->inputs)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %lld elements per item, its weights are for %lld",
                                 (long long)inputs, (long long)s->inputs);
    for (i = 0; i < s->axis; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    shape[s->axis] = s->outputs;
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, s->axis + 1, NULL);
    return err ? err : emit(layer, s);
}

static const char *const messages[] = { "inner_product_param", NULL };

const ferry_layer_type ferry__inner_product_layer = {
    .struct_size = sizeof ferry__inner_product_layer,
    .name = "InnerProduct",
    .state_size = sizeof(struct inner_product),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
