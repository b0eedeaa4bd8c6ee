/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PReLU (prelu_param): x if it is positive, otherwise slope · x, with one slope for each channel,
 * or one for all (channel_shared). (Caffe: PReLULayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "prelu_param", 0);
    bool shared = ferry_proto_boolean(p, "channel_shared", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t channels;
    ferry_layer_param param = { .struct_size = sizeof param, .shape = &channels };

    if (ferry_blob_rank(bottom) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, at least 2 are required",
                                 ferry_blob_rank(bottom));
    channels = ferry_blob_dim(bottom, 1);
    param.rank = shared ? 0 : 1;
    param.lr_mult = param.decay_mult = 1;
    param.value = 0.25;
    if (ferry_proto_value_count(p, "filler"))
        param.filler = ferry_proto_message(p, "filler", 0);
    return ferry_layer_declare_param(layer, &param);
}

/* Emits the gradients. The slopes' gradient comes first, because in place dx overwrites dy. */
static int emit_backward(ferry_layer *layer, struct ferry__term x, struct ferry__term u)
{
    struct ferry__term dy = { x.o, ferry__diff(ferry__of_top(0)) };
    ferry_op_desc op;
    int err = 0;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_PRELU;
    if (ferry_layer_param_propagates(layer, 0))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ dy, x },
                               (struct ferry__term){ u.o, ferry__diff(u.at) });
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 3,
                               (struct ferry__term[]){ dy, x, u },
                               (struct ferry__term){ x.o, ferry__diff(ferry__of_bottom(0)) });
    return err;
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t slopes = ferry_blob_element_count(ferry_layer_param_at(layer, 0));
    struct ferry__term kept, slope = { .at = ferry__of_param(0) };
    ferry_operand x;
    int err = ferry__top_like(layer, 0, bottom);

    if (err)
        return err;
    if (slopes != 1 && slopes != ferry_blob_dim(bottom, 1))
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld slopes for %lld channels",
                                 (long long)slopes, (long long)ferry_blob_dim(bottom, 1));
    x = ferry__around(layer, ferry__of_bottom(0), 1);
    slope.o = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, slopes, 1 }, 3, NULL);
    kept.o = x;
    err = ferry__input_kept(layer, 0, &kept.at);
    if (!err)
        err = ferry__emit_binary(layer, FERRY_BINARY_PRELU, 1, 1, x, ferry__of_bottom(0), slope.o,
                                 slope.at, x, ferry__of_top(0));
    return err ? err : emit_backward(layer, kept, slope);
}

static const char *const messages[] = { "prelu_param", NULL };

const ferry_layer_type ferry__prelu_layer = {
    .struct_size = sizeof ferry__prelu_layer,
    .name = "PReLU",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
