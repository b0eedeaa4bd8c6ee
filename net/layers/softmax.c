/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Softmax (softmax_param): exp(x) over its sum along `axis` (1). (Caffe: SoftmaxLayer.) LogSoftmax,
 * ferry's own, is its logarithm. (ONNX: LogSoftmax.)
 */
#include "net/layers/emit.h"

static int emit(ferry_layer *layer, uint32_t logarithm)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "softmax_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand in[1], out[1];
    struct ferry__term y, dy;
    int axis, err;
    ferry_op_desc op;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(bottom), &axis);
    if (!err)
        err = ferry__top_like(layer, 0, bottom);
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_SOFTMAX);
    op.params.softmax.axis = 1;
    op.params.softmax.logarithm = logarithm;
    ferry__op_in(&op, in, ferry__around(layer, ferry__of_bottom(0), axis), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__around(layer, ferry__of_top(0), axis), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    err = ferry__result_kept(layer, 0, 0, &y.at);
    if (err)
        return err;
    dy.at = ferry__diff(ferry__of_top(0));
    y.o = dy.o = op.out[0];
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 2,
                            (struct ferry__term[]){ dy, y },
                            (struct ferry__term){ y.o, ferry__diff(ferry__of_bottom(0)) });
}

static int reshape(ferry_layer *layer)
{
    return emit(layer, 0);
}

static int reshape_logarithm(ferry_layer *layer)
{
    return emit(layer, 1);
}

static const char *const messages[] = { "softmax_param", NULL };

const ferry_layer_type ferry__softmax_layer = {
    .struct_size = sizeof ferry__softmax_layer,
    .name = "Softmax",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape,
};

const ferry_layer_type ferry__log_softmax_layer = {
    .struct_size = sizeof ferry__log_softmax_layer,
    .name = "LogSoftmax",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .reshape = reshape_logarithm,
};
