/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MVN (mvn_param): each plane (with across_channels each image) minus its mean, and with
 * normalize_variance divided by √variance + eps; eps is outside of the root. (Caffe: MVNLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/* The layer's scratch blobs. */
enum { MEAN, VARIANCE, SPREAD, RESULT };

static int emit_moments(ferry_layer *layer, ferry_operand x, ferry_operand o)
{
    ferry_layer_operand in[1], out[2];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 2;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_out(&op, out, o, ferry__of_scratch(MEAN));
    ferry__op_out(&op, out, o, ferry__of_scratch(VARIANCE));
    return ferry_layer_emit(layer, &op, in, out);
}

/* Emits 1 / (√variance + eps), in three operations. */
static int emit_spread(ferry_layer *layer, double eps)
{
    ferry_layer_operand variance = ferry__of_scratch(VARIANCE), spread = ferry__of_scratch(SPREAD);
    int err = ferry__emit_unary(layer, FERRY_UNARY_POWER, 0.5, 1, 0, variance, spread);

    return err ? err : ferry__emit_unary(layer, FERRY_UNARY_POWER, -1, 1, eps, spread, spread);
}

static int emit_backward(ferry_layer *layer, bool normalize, ferry_operand x, ferry_operand o)
{
    struct ferry__term in[3] = { { x, ferry__diff(ferry__of_top(0)) },
                                 { .o = x },
                                 { o, ferry__of_scratch(SPREAD) } };
    ferry_op_desc op;
    int err;

    if (!ferry_layer_propagates(layer, 0))
        return 0;
    err = normalize ? ferry__result_kept(layer, 0, RESULT, &in[1].at) : 0;
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 2;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, normalize ? 3 : 1, in,
                            (struct ferry__term){ x, ferry__diff(ferry__of_bottom(0)) });
}

/* The bottom's shape, extended to at least four axes. */
static int shape_top(ferry_layer *layer, const ferry_blob *bottom)
{
    int64_t shape[4] = { 1, 1, 1, 1 };
    int rank = ferry_blob_rank(bottom), i;

    if (rank >= 4)
        return ferry__top_like(layer, 0, bottom);
    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "mvn_param", 0);
    bool across = ferry_proto_boolean(p, "across_channels", 0);
    bool normalize = ferry_proto_boolean(p, "normalize_variance", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), i, err = shape_top(layer, bottom);
    int split = across ? 1 : 2; /* the axes before this one are the rows */
    ferry_layer_operand in[3], out[1];
    int64_t rows;
    ferry_operand x, o;
    ferry_op_desc op;

    if (err)
        return err;
    if (split > rank)
        split = rank;
    rows = ferry_blob_element_count_range(bottom, 0, split);
    for (i = MEAN; i <= SPREAD; i++)
        if (!ferry_layer_scratch(layer, i, 1, &rows, 1))
            return ferry_last_error_code();
    x = ferry_operand_make(FERRY_F32,
                           (int64_t[]){ rows, ferry_blob_element_count_range(bottom, split, rank) },
                           2, NULL);
    o = ferry_operand_make(FERRY_F32, (int64_t[]){ rows, 1 }, 2, NULL);
    err = emit_moments(layer, x, o);
    if (!err && !normalize)
        err = ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, -1, x, ferry__of_bottom(0), o,
                                 ferry__of_scratch(MEAN), x, ferry__of_top(0));
    if (!err && !normalize)
        return emit_backward(layer, normalize, x, o);
    if (!err)
        err = emit_spread(layer, ferry_proto_real(p, "eps", 0));
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_NORMALISE;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_in(&op, in, o, ferry__of_scratch(MEAN));
    ferry__op_in(&op, in, o, ferry__of_scratch(SPREAD));
    ferry__op_out(&op, out, x, ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : emit_backward(layer, normalize, x, o);
}

static const char *const messages[] = { "mvn_param", NULL };

const ferry_layer_type ferry__mvn_layer = {
    .struct_size = sizeof ferry__mvn_layer,
    .name = "MVN",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
