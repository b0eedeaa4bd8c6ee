/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reduction (reduction_param): SUM, ASUM, SUMSQ or MEAN over the axes from `axis` (0) on, times
 * coeff. (Caffe: ReductionLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

static uint32_t function_of(const char *operation)
{
    return !strcmp(operation, "ASUM")    ? FERRY_REDUCE_ASUM
           : !strcmp(operation, "SUMSQ") ? FERRY_REDUCE_SUMSQ
                                         : FERRY_REDUCE_SUM;
}

static int emit_backward(ferry_layer *layer, const ferry_op_desc *op)
{
    struct ferry__term x = { op->in[0], ferry__of_bottom(0) };
    struct ferry__term dy = { op->out[0], ferry__diff(ferry__of_top(0)) };

    return ferry__emit_pass(
        layer, op, FERRY_PASS_BACKWARD_DATA, op->params.reduce.function == FERRY_REDUCE_SUM ? 1 : 2,
        (struct ferry__term[]){ dy, x }, (struct ferry__term){ x.o, ferry__diff(x.at) });
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "reduction_param", 0);
    const char *operation = ferry_proto_enum(p, "operation", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), axis, err;
    ferry_layer_operand in[1], out[1];
    int64_t shape[2];
    ferry_op_desc op;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &axis);
    if (!err)
        err =
            ferry_blob_reshape(ferry_layer_top_at(layer, 0), ferry_blob_shape(bottom), axis, NULL);
    if (err)
        return err;
    shape[0] = ferry_blob_element_count_range(bottom, 0, axis);
    shape[1] = ferry_blob_element_count_range(bottom, axis, rank);
    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.params.reduce.function = function_of(operation);
    op.params.reduce.axes = 2;
    op.params.reduce.scale = ferry_proto_real(p, "coeff", 0);
    if (!strcmp(operation, "MEAN") && shape[1])
        op.params.reduce.scale /= (double)shape[1];
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, shape, 2, NULL), ferry__of_bottom(0));
    shape[1] = 1;
    ferry__op_out(&op, out, ferry_operand_make(FERRY_F32, shape, 2, NULL), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_backward(layer, &op);
}

static const char *const messages[] = { "reduction_param", NULL };

const ferry_layer_type ferry__reduction_layer = {
    .struct_size = sizeof ferry__reduction_layer,
    .name = "Reduction",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
