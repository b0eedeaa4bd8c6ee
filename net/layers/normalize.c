/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Normalize (norm_param): each position (with across_spatial each image) divided by √(eps + Σ x²),
 * times a scale for each channel (channel_shared: one for all). (weiliu89's SSD: NormalizeLayer,
 * whose eps is inside the root.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "norm_param", 0);
}

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = parameters(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t channels;
    ferry_layer_param param = { .struct_size = sizeof param, .rank = 1, .shape = &channels };

    if (ferry_blob_rank(bottom) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, at least 2 are required",
                                 ferry_blob_rank(bottom));
    channels = ferry_blob_dim(bottom, 1);
    if (ferry_proto_boolean(p, "channel_shared", 0))
        param.rank = 0;
    param.lr_mult = param.decay_mult = 1;
    param.value = 1;
    if (ferry_proto_value_count(p, "scale_filler"))
        param.filler = ferry_proto_message(p, "scale_filler", 0);
    return ferry_layer_declare_param(layer, &param);
}

/* Emits Σ x² of each position or image into scratch 0, then (Σ + eps)^−½ in place. */
static int emit_norm(ferry_layer *layer, ferry_operand x, ferry_operand norm, uint32_t axes,
                     double eps)
{
    ferry_layer_operand in[1], out[1];
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.params.reduce.function = FERRY_REDUCE_SUMSQ;
    op.params.reduce.axes = axes;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_out(&op, out, norm, ferry__of_scratch(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err
               : ferry__emit_unary(layer, FERRY_UNARY_POWER, -0.5, 1, eps, ferry__of_scratch(0),
                                   ferry__of_scratch(0));
}

/* Emits the scales' gradient, the sum of dy times x / ‖x‖. */
static int emit_scales(ferry_layer *layer, struct ferry__term dy, struct ferry__term norm,
                       struct ferry__term scale)
{
    struct ferry__term x = { dy.o, ferry__of_bottom(0) };
    struct ferry__term room = { dy.o, ferry__diff(ferry__of_scratch(1)) };
    ferry_op_desc op;
    int err = ferry__emit_product(layer, x, norm, room);

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_PRODUCT;
    return err ? err
               : ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                                  (struct ferry__term[]){ dy, room },
                                  (struct ferry__term){ scale.o, ferry__diff(scale.at) });
}

/* Emits the bottom's gradient. With t = dy · scale and n = 1 / ‖x‖: dx = t·n − x·n³·Σ t·x. */
static int emit_data(ferry_layer *layer, struct ferry__term dy, struct ferry__term norm,
                     struct ferry__term scale)
{
    struct ferry__term x = { dy.o, ferry__of_bottom(0) }, dx = { dy.o, ferry__diff(x.at) };
    struct ferry__term t = { dy.o, ferry__diff(ferry__of_scratch(1)) };
    struct ferry__term room = { dy.o, ferry__diff(ferry__of_scratch(2)) };
    struct ferry__term sum = { norm.o, ferry__diff(ferry__of_scratch(0)) };
    int i, err = ferry__emit_product(layer, dy, scale, t);

    if (!err)
        err = ferry__emit_product(layer, t, x, room);
    if (!err)
        err = ferry__emit_sum(layer, 1, room, sum);
    for (i = 0; !err && i < 3; i++)
        err = ferry__emit_product(layer, sum, norm, sum);
    if (!err)
        err = ferry__emit_product(layer, x, sum, room);
    if (!err)
        err = ferry__emit_product(layer, t, norm, dx);
    return err ? err
               : ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, -1, dx.o, dx.at, room.o, room.at,
                                    dx.o, dx.at);
}

static int emit_backward(ferry_layer *layer, ferry_operand x, struct ferry__term norm,
                         struct ferry__term scale)
{
    struct ferry__term dy = { x, ferry__diff(ferry__of_top(0)) };
    int i, err = 0;

    for (i = 1; i <= 2; i++)
        if (!ferry_layer_scratch(layer, i, 0, x.shape, 3))
            return ferry_last_error_code();
    if (ferry_layer_param_propagates(layer, 0))
        err = emit_scales(layer, dy, norm, scale);
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_data(layer, dy, norm, scale);
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = parameters(layer);
    bool whole = ferry_proto_boolean(p, "across_spatial", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t slopes = ferry_blob_element_count(ferry_layer_param_at(layer, 0)), size;
    ferry_operand x = ferry__around(layer, ferry__of_bottom(0), 1), norm, scale;
    int err = ferry__top_like(layer, 0, bottom);

    if (err)
        return err;
    if (slopes != 1 && slopes != x.shape[1])
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld scales for %lld channels",
                                 (long long)slopes, (long long)x.shape[1]);
    norm = ferry_operand_make(FERRY_F32, (int64_t[]){ x.shape[0], 1, whole ? 1 : x.shape[2] }, 3,
                              NULL);
    size = norm.shape[0] * norm.shape[2];
    scale = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, slopes, 1 }, 3, NULL);
    if (!ferry_layer_scratch(layer, 0, 1, &size, 1))
        return ferry_last_error_code();
    err = emit_norm(layer, x, norm, whole ? 6 : 2, ferry_proto_real(p, "eps", 0));
    if (!err)
        err = ferry__emit_binary(layer, FERRY_BINARY_PRODUCT, 1, 1, x, ferry__of_bottom(0), norm,
                                 ferry__of_scratch(0), x, ferry__of_top(0));
    if (!err)
        err = ferry__emit_binary(layer, FERRY_BINARY_PRODUCT, 1, 1, x, ferry__of_top(0), scale,
                                 ferry__of_param(0), x, ferry__of_top(0));
    if (err || !ferry_layer_needs_backward(layer))
        return err;
    return emit_backward(layer, x, (struct ferry__term){ norm, ferry__of_scratch(0) },
                         (struct ferry__term){ scale, ferry__of_param(0) });
}

static const char *const messages[] = { "norm_param", NULL };

const ferry_layer_type ferry__normalize_layer = {
    .struct_size = sizeof ferry__normalize_layer,
    .name = "Normalize",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
