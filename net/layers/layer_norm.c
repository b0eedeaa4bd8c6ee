/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LayerNorm (layer_norm_param), ferry's own: (x − mean) / √(variance + eps) over all axes from
 * `axis` (1) on, with the biased variance. A Scale layer after it applies scale and bias. (ONNX:
 * LayerNormalization; with axis 2, InstanceNormalization.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/* The layer's scratch blobs. */
enum { MEAN, VARIANCE, SPREAD, RESULT };

/* The operands: x as rows × elements, and one number for each row. */
struct rows {
    ferry_operand x, one;
};

static int make_rows(ferry_layer *layer, const ferry_proto *p, struct rows *out)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), axis, i, err;
    int64_t shape[2];

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &axis);
    if (err)
        return err;
    shape[0] = ferry_blob_element_count_range(bottom, 0, axis);
    shape[1] = ferry_blob_element_count_range(bottom, axis, rank);
    for (i = MEAN; i <= SPREAD; i++)
        if (!ferry_layer_scratch(layer, i, 1, shape, 1))
            return ferry_last_error_code();
    out->x = ferry_operand_make(FERRY_F32, shape, 2, NULL);
    shape[1] = 1;
    out->one = ferry_operand_make(FERRY_F32, shape, 2, NULL);
    return 0;
}

static int emit(ferry_layer *layer, const struct rows *r, double eps)
{
    ferry_layer_operand in[3], out[2];
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 2;
    ferry__op_in(&op, in, r->x, ferry__of_bottom(0));
    ferry__op_out(&op, out, r->one, ferry__of_scratch(MEAN));
    ferry__op_out(&op, out, r->one, ferry__of_scratch(VARIANCE));
    err = ferry_layer_emit(layer, &op, in, out);
    if (!err)
        err = ferry__emit_unary(layer, FERRY_UNARY_POWER, -0.5, 1, eps, ferry__of_scratch(VARIANCE),
                                ferry__of_scratch(SPREAD));
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_NORMALISE;
    ferry__op_in(&op, in, r->x, ferry__of_bottom(0));
    ferry__op_in(&op, in, r->one, ferry__of_scratch(MEAN));
    ferry__op_in(&op, in, r->one, ferry__of_scratch(SPREAD));
    ferry__op_out(&op, out, r->x, ferry__of_top(0));
    return ferry_layer_emit(layer, &op, in, out);
}

static int emit_backward(ferry_layer *layer, const struct rows *r)
{
    struct ferry__term in[3] = { { r->x, ferry__diff(ferry__of_top(0)) },
                                 { .o = r->x },
                                 { r->one, ferry__of_scratch(SPREAD) } };
    ferry_op_desc op;
    int err = ferry__result_kept(layer, 0, RESULT, &in[1].at);

    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 2;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 3, in,
                            (struct ferry__term){ r->x, ferry__diff(ferry__of_bottom(0)) });
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "layer_norm_param", 0);
    struct rows r;
    int err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));

    if (!err)
        err = make_rows(layer, p, &r);
    if (!err)
        err = emit(layer, &r, ferry_proto_real(p, "eps", 0));
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_backward(layer, &r);
}

static const char *const messages[] = { "layer_norm_param", NULL };

const ferry_layer_type ferry__layer_norm_layer = {
    .struct_size = sizeof ferry__layer_norm_layer,
    .name = "LayerNorm",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
