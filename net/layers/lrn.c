/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRN (lrn_param): x / (k + alpha/n · Σ x²)^beta over local_size channels (ACROSS_CHANNELS), or x /
 * (1 + alpha/n² · Σ x²)^beta over a square (WITHIN_CHANNEL, which ignores k). (Caffe: LRNLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

/* The layer's scratch blobs. */
enum { SCALE, RESULT };

/* Emits the gradient, which uses the scale of each element from forward. */
static int emit_backward(ferry_layer *layer, const ferry_op_desc *op)
{
    struct ferry__term in[4] = { ferry__term(layer, ferry__diff(ferry__of_top(0))),
                                 ferry__term(layer, ferry__of_bottom(0)) };
    ferry_layer_operand result;
    int err = ferry__result_kept(layer, 0, RESULT, &result);

    if (err)
        return err;
    in[2] = ferry__term(layer, result);
    in[3] = ferry__term(layer, ferry__of_scratch(SCALE));
    return ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_DATA, 4, in,
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "lrn_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand in[1], out[2];
    int err = ferry__top_like(layer, 0, bottom);
    ferry_op_desc op;

    if (err)
        return err;
    if (ferry_blob_rank(bottom) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not 4",
                                 ferry_blob_rank(bottom));
    ferry_op_desc_init(&op, FERRY_OP_LRN);
    op.params.lrn.region = strcmp(ferry_proto_enum(p, "norm_region", 0), "WITHIN_CHANNEL")
                               ? FERRY_LRN_ACROSS
                               : FERRY_LRN_WITHIN;
    op.params.lrn.size = ferry_proto_integer(p, "local_size", 0);
    op.params.lrn.alpha = ferry_proto_real(p, "alpha", 0);
    op.params.lrn.beta = ferry_proto_real(p, "beta", 0);
    op.params.lrn.k = ferry_proto_real(p, "k", 0);
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    if (!ferry_layer_propagates(layer, 0))
        return ferry_layer_emit(layer, &op, in, out);
    if (!ferry_layer_scratch(layer, SCALE, 1, ferry_blob_shape(bottom), 4))
        return ferry_last_error_code();
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_scratch(SCALE)),
                  ferry__of_scratch(SCALE));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : emit_backward(layer, &op);
}

static const char *const messages[] = { "lrn_param", NULL };

const ferry_layer_type ferry__lrn_layer = {
    .struct_size = sizeof ferry__lrn_layer,
    .name = "LRN",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
