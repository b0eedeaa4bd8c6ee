/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BatchReindex: the items of bottom 0 that bottom 1 lists, in its order. (Caffe:
 * BatchReindexLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)layer;
    return index ? "Layer: Cannot backprop to index." : NULL;
}

/* Emits the gradient: each row of dy is added to the row that it was copied from. */
static int emit_backward(ferry_layer *layer, const ferry_op_desc *gather)
{
    struct ferry__term in[2] = { { gather->out[0], ferry__diff(ferry__of_top(0)) },
                                 { gather->in[1], ferry__of_bottom(1) } };
    struct ferry__term dx = { gather->in[0], ferry__diff(ferry__of_bottom(0)) };
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_SCATTER_ADD);
    err = ferry__emit_zeros(layer, dx.at, 0);
    return err ? err : ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 2, in, dx);
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *index = ferry_layer_bottom_at(layer, 1);
    int rank = ferry_blob_rank(x), i, err;
    ferry_layer_operand in[2], out[1];
    int64_t shape[32], table[2], rows[2];
    ferry_op_desc op;

    if (rank < 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottom 0 is a scalar");
    if (ferry_blob_rank(index) != 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottom 1 has %d axes, not 1",
                                 ferry_blob_rank(index));
    for (i = 0; i < rank; i++)
        shape[i] = i ? ferry_blob_dim(x, i) : ferry_blob_dim(index, 0);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
    if (err)
        return err;
    table[0] = ferry_blob_dim(x, 0);
    rows[0] = shape[0];
    table[1] = rows[1] = ferry_blob_element_count_range(x, 1, rank);
    ferry_op_desc_init(&op, FERRY_OP_GATHER);
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, table, 2, NULL), ferry__of_bottom(0));
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, rows, 1, NULL), ferry__of_bottom(1));
    ferry__op_out(&op, out, ferry_operand_make(FERRY_F32, rows, 2, NULL), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_backward(layer, &op);
}

const ferry_layer_type ferry__batch_reindex_layer = {
    .struct_size = sizeof ferry__batch_reindex_layer,
    .name = "BatchReindex",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .reshape = reshape,
    .refuses = refuses,
};
