/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PReLU (prelu_param): x where it is positive, else slope · x, with a slope for each channel, or one
 * for all (channel_shared). (Caffe: PReLULayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "prelu_param", 0);
    bool shared = ferry_proto_boolean(p, "channel_shared", 0);
    const ferry_blob *bottom = ferry_layer_bottom(layer, 0);
    int64_t channels;
    ferry_layer_param param = { .struct_size = sizeof param, .dims = &channels };

    if (ferry_blob_naxes(bottom) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, at least 2 fit",
                                 ferry_blob_naxes(bottom));
    channels = ferry_blob_dim(bottom, 1);
    param.naxes = shared ? 0 : 1;
    param.lr_mult = param.decay_mult = 1;
    param.value = 0.25;
    if (ferry_proto_count(p, "filler"))
        param.filler = ferry_proto_message(p, "filler", 0);
    return ferry_layer_declare(layer, &param);
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom(layer, 0);
    int64_t slopes = ferry_blob_count(ferry_layer_param_at(layer, 0));
    ferry_operand x, u;
    int err = ferry__top_like(layer, 0, bottom);

    if (err)
        return err;
    if (slopes != 1 && slopes != ferry_blob_dim(bottom, 1))
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld slopes for %lld channels",
                                 (long long)slopes, (long long)ferry_blob_dim(bottom, 1));
    x = ferry__around(layer, ferry__of_bottom(0), 1);
    u = ferry_operand_of(FERRY_F32, 3, (int64_t[]){ 1, slopes, 1 }, NULL);
    return ferry__emit_binary(layer, FERRY_BINARY_PRELU, 1, 1, x, ferry__of_bottom(0), u,
                              ferry__of_param(0), x, ferry__of_top(0));
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
