/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameter (parameter_param): a top that shares a parameter of the given shape. (Caffe:
 * ParameterLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "parameter_param", 0);
    const ferry_proto *shape = ferry_proto_message(p, "shape", 0);
    int64_t dims[FERRY_MAX_AXES], n = ferry_proto_value_count(shape, "dim"), i;
    ferry_layer_param param = { .struct_size = sizeof param, .shape = dims };

    if (n > FERRY_MAX_AXES)
        return ferry_proto_error(shape, "dim", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes, the limit is %d",
                                 ferry_layer_name(layer), (long long)n, FERRY_MAX_AXES);
    for (i = 0; i < n; i++)
        dims[i] = ferry_proto_integer(shape, "dim", i);
    param.rank = (int)n;
    param.lr_mult = param.decay_mult = 1;
    return ferry_layer_declare_param(layer, &param);
}

/* Emits the gradient: the top's diff is added to the parameter's. */
static int emit_backward(ferry_layer *layer)
{
    struct ferry__term dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SUM;
    op.params.binary.a = op.params.binary.b = 1;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 1, &dy,
                            ferry__term(layer, ferry__diff(ferry__of_param(0))));
}

static int reshape(ferry_layer *layer)
{
    int err = ferry__top_like(layer, 0, ferry_layer_param_at(layer, 0));

    if (!err)
        err = ferry__emit_copy(layer, ferry__whole(layer, ferry__of_param(0)), ferry__of_param(0),
                               ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    return err || !ferry_layer_param_propagates(layer, 0) ? err : emit_backward(layer);
}

static const char *const messages[] = { "parameter_param", NULL };

const ferry_layer_type ferry__parameter_layer = {
    .struct_size = sizeof ferry__parameter_layer,
    .name = "Parameter",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
