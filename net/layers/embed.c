/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Embed (embed_param): for each index the table row with that number, plus a bias with bias_term;
 * the top has the bottom's axes followed by num_output. (Caffe: EmbedLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "embed_param", 0);
    int64_t dims[2] = { ferry_proto_integer(p, "input_dim", 0),
                        ferry_proto_integer(p, "num_output", 0) };
    ferry_layer_param param = { .struct_size = sizeof param, .rank = 2, .shape = dims };
    int err;

    if (dims[0] < 1 || dims[1] < 1)
        return ferry_layer_error(layer, FERRY_EFORMAT, "input_dim is %lld, num_output %lld",
                                 (long long)dims[0], (long long)dims[1]);
    param.lr_mult = param.decay_mult = 1;
    param.filler = ferry_proto_message(p, "weight_filler", 0);
    err = ferry_layer_declare_param(layer, &param);
    if (err || !ferry_proto_boolean(p, "bias_term", 0))
        return err;
    param.rank = 1;
    param.shape = &dims[1];
    param.filler = ferry_proto_message(p, "bias_filler", 0);
    return ferry_layer_declare_param(layer, &param);
}

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)layer;
    (void)index;
    return "Layer: Can't backpropagate to EmbedLayer input.";
}

/* Emits the gradient: rows of dy are added to the table rows that were read. */
static int emit_backward(ferry_layer *layer, ferry_operand y)
{
    struct ferry__term dy = { y, ferry__diff(ferry__of_top(0)) };
    struct ferry__term index = { ferry_operand_make(FERRY_F32, y.shape, 1, NULL),
                                 ferry__of_bottom(0) };
    ferry_op_desc op;
    int err = 0;

    if (ferry_layer_param_count(layer) > 1 && ferry_layer_param_propagates(layer, 1)) {
        ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               ferry__term(layer, ferry__diff(ferry__of_param(1))));
    }
    if (err || !ferry_layer_param_propagates(layer, 0))
        return err;
    ferry_op_desc_init(&op, FERRY_OP_SCATTER_ADD);
    return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 2, (struct ferry__term[]){ dy, index },
                            ferry__term(layer, ferry__diff(ferry__of_param(0))));
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0),
                     *table = ferry_layer_param_at(layer, 0);
    int rank = ferry_blob_rank(bottom), i, err;
    ferry_layer_operand in[2], out[1];
    int64_t dims[33], shape[2];
    ferry_operand y;
    ferry_op_desc op;

    for (i = 0; i < rank; i++)
        dims[i] = ferry_blob_dim(bottom, i);
    dims[rank] = shape[1] = ferry_blob_dim(table, 1);
    shape[0] = ferry_blob_element_count(bottom);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), dims, rank + 1, NULL);
    if (err)
        return err;
    y = ferry_operand_make(FERRY_F32, shape, 2, NULL);
    ferry_op_desc_init(&op, FERRY_OP_GATHER);
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(0)), ferry__of_param(0));
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, shape, 1, NULL), ferry__of_bottom(0));
    ferry__op_out(&op, out, y, ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    if (!err && ferry_layer_param_count(layer) > 1)
        err = ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, y, ferry__of_top(0),
                                 ferry_operand_make(FERRY_F32, (int64_t[]){ 1, shape[1] }, 2, NULL),
                                 ferry__of_param(1), y, ferry__of_top(0));
    return err ? err : emit_backward(layer, y);
}

static const char *const messages[] = { "embed_param", NULL };

const ferry_layer_type ferry__embed_layer = {
    .struct_size = sizeof ferry__embed_layer,
    .name = "Embed",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .refuses = refuses,
};
