/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BN (bn_param) of SegNet's and ENet's forks: x · scale + shift for each channel. In bn_mode
 * INFERENCE the statistics are already folded into scale and shift; in LEARN x is first normalized
 * by the batch's mean and variance, with 1e−9 added to the variance. Parameters: scale, shift, 1 ×
 * C × 1 × 1. (SegNet: BNLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

#define EPS 1e-9

/* The layer's scratch blobs. */
enum { MEAN, VARIANCE, SPREAD, RESULT };

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "bn_param", 0);
    int64_t shape[4] = { 1, 1, 1, 1 };
    ferry_layer_param param = { .struct_size = sizeof param, .rank = 4, .shape = shape };
    int err;

    if (ferry_blob_rank(ferry_layer_bottom_at(layer, 0)) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, at least 2 are required",
                                 ferry_blob_rank(ferry_layer_bottom_at(layer, 0)));
    shape[1] = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 1);
    param.lr_mult = param.decay_mult = 1;
    param.filler = ferry_proto_message(p, "scale_filler", 0);
    err = ferry_layer_declare_param(layer, &param);
    param.filler = ferry_proto_message(p, "shift_filler", 0);
    return err ? err : ferry_layer_declare_param(layer, &param);
}

static ferry_operand per_channel(const ferry_layer *layer)
{
    int64_t channels = ferry_blob_element_count(ferry_layer_param_at(layer, 0));

    return ferry_operand_make(FERRY_F32, (int64_t[]){ 1, channels, 1 }, 3, NULL);
}

/* Emits a binary function of x and another operand into the top. */
static int emit(ferry_layer *layer, uint32_t function, ferry_layer_operand x, ferry_layer_operand u,
                ferry_layer_operand v)
{
    ferry_operand image = ferry__around(layer, ferry__of_bottom(0), 1), o = per_channel(layer);
    ferry_layer_operand in[3], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = function;
    ferry__op_in(&op, in, image, x);
    ferry__op_in(&op, in, o, u);
    ferry__op_in(&op, in, o, v);
    ferry__op_out(&op, out, image, ferry__of_top(0));
    return ferry_layer_emit(layer, &op, in, out);
}

/* Emits (x − mean) / √(variance + EPS) with the batch's statistics, into the top. */
static int emit_normalized(ferry_layer *layer)
{
    int64_t channels = ferry_blob_element_count(ferry_layer_param_at(layer, 0));
    ferry_layer_operand in[1], out[2];
    ferry_op_desc op;
    int i, err;

    for (i = MEAN; i <= SPREAD; i++)
        if (!ferry_layer_scratch(layer, i, 1, &channels, 1))
            return ferry_last_error_code();
    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 1u << 0 | 1u << 2;
    ferry__op_in(&op, in, ferry__around(layer, ferry__of_bottom(0), 1), ferry__of_bottom(0));
    ferry__op_out(&op, out, per_channel(layer), ferry__of_scratch(MEAN));
    ferry__op_out(&op, out, per_channel(layer), ferry__of_scratch(VARIANCE));
    err = ferry_layer_emit(layer, &op, in, out);
    if (!err)
        err = ferry__emit_unary(layer, FERRY_UNARY_POWER, -0.5, 1, EPS, ferry__of_scratch(VARIANCE),
                                ferry__of_scratch(SPREAD));
    return err ? err
               : emit(layer, FERRY_BINARY_NORMALISE, ferry__of_bottom(0), ferry__of_scratch(MEAN),
                      ferry__of_scratch(SPREAD));
}

/* Backward needs the input of the scaling: x, or in LEARN the normalized x. */
static int keep(ferry_layer *layer, bool learn, ferry_layer_operand *out)
{
    const ferry_blob *top = ferry_layer_top_at(layer, 0);
    ferry_operand image = ferry__around(layer, ferry__of_bottom(0), 1);

    if (!learn)
        return ferry__input_kept(layer, RESULT, out);
    *out = ferry__of_scratch(RESULT);
    if (!ferry_layer_needs_backward(layer))
        return 0;
    if (!ferry_layer_scratch(layer, RESULT, 1, ferry_blob_shape(top), ferry_blob_rank(top)))
        return ferry_last_error_code();
    return ferry__emit_copy(layer, image, ferry__of_top(0), image, *out);
}

static int emit_backward(ferry_layer *layer, bool learn, ferry_layer_operand kept)
{
    ferry_operand image = ferry__around(layer, ferry__of_bottom(0), 1), o = per_channel(layer);
    struct ferry__term dy = { image, ferry__diff(ferry__of_top(0)) }, x = { image, kept };
    struct ferry__term dx = { image, ferry__diff(ferry__of_bottom(0)) };
    struct ferry__term scale = { o, ferry__of_param(0) }, spread = { o, ferry__of_scratch(SPREAD) };
    ferry_op_desc op;
    int err = 0;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SCALE;
    if (ferry_layer_param_propagates(layer, 1))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               (struct ferry__term){ o, ferry__diff(ferry__of_param(1)) });
    if (!err && ferry_layer_param_propagates(layer, 0))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ dy, x },
                               (struct ferry__term){ o, ferry__diff(scale.at) });
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    err = ferry__emit_product(layer, dy, scale, dx);
    if (err || !learn)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 1u << 0 | 1u << 2;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 3,
                            (struct ferry__term[]){ dx, x, spread }, dx);
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "bn_param", 0);
    int64_t channels = ferry_blob_element_count(ferry_layer_param_at(layer, 0));
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    bool learn = strcmp(ferry_proto_enum(p, "bn_mode", 0), "INFERENCE") != 0;
    ferry_layer_operand kept;
    int err = ferry__top_like(layer, 0, bottom);

    if (!err && (ferry_blob_rank(bottom) < 2 || ferry_blob_dim(bottom, 1) != channels))
        err = ferry_layer_error(layer, FERRY_ESHAPE, "its bottom does not have %lld channels",
                                (long long)channels);
    if (!err && learn)
        err = emit_normalized(layer);
    if (!err)
        err = keep(layer, learn, &kept);
    if (!err)
        err = emit(layer, FERRY_BINARY_SCALE, learn ? ferry__of_top(0) : ferry__of_bottom(0),
                   ferry__of_param(0), ferry__of_param(1));
    return err ? err : emit_backward(layer, learn, kept);
}

static const char *const messages[] = { "bn_param", NULL };

const ferry_layer_type ferry__bn_layer = {
    .struct_size = sizeof ferry__bn_layer,
    .name = "BN",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
