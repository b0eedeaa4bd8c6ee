/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scale (scale_param): x times a factor, which has the bottom's axes from `axis` (1) on, num_axes (1;
 * −1: all, 0: a scalar) of them, and is a parameter or bottom 1; and with bias_term plus a term of the
 * same shape. (Caffe: ScaleLayer.)
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
    if (!err && ferry_layer_n_bottoms(layer) == 1) {
        if (ferry_proto_count(p, "filler"))
            filler = ferry_proto_message(p, "filler", 0);
        err = ferry__span_declare(layer, &s->span, filler, 1);
    }
    if (!err && s->bias)
        err = ferry__span_declare(layer, &s->span, ferry_proto_message(p, "bias_filler", 0), 0);
    return err;
}

static int reshape(ferry_layer *layer)
{
    struct scale *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom(layer, 0);
    bool two = ferry_layer_n_bottoms(layer) > 1;
    ferry_layer_operand in[3], out[1], factor = two ? ferry__of_bottom(1) : ferry__of_param(0);
    ferry_operand x, u;
    ferry_op op;
    int err = ferry__span_fit(layer, &s->span);

    if (!err)
        err = ferry__top_like(layer, 0, bottom);
    if (err)
        return err;
    x = ferry__span_image(bottom, &s->span);
    u = ferry__span_operand(bottom, &s->span);
    if (!two && ferry_blob_count(ferry_layer_param_at(layer, 0)) != u.shape[1])
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld factors for %lld",
                                 (long long)ferry_blob_count(ferry_layer_param_at(layer, 0)),
                                 (long long)u.shape[1]);
    ferry_op_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SCALE;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_in(&op, in, u, factor);
    if (s->bias)
        ferry__op_in(&op, in, u, ferry__of_param(two ? 0 : 1));
    ferry__op_out(&op, out, x, ferry__of_top(0));
    return ferry_layer_emit(layer, &op, in, out);
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
