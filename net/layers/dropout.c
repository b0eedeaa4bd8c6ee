/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dropout (dropout_param): in TRAIN each element is dropped with probability dropout_ratio, and the
 * others are multiplied by 1 / (1 − ratio); in TEST the top is a copy of the bottom. The copy is an
 * operation, since a later layer may work in place on the top; fuse.c removes it where this has no
 * visible effect. (Caffe: DropoutLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "dropout_param", 0);
    double ratio = ferry_proto_real(p, "dropout_ratio", 0);

    return ratio >= 0 && ratio < 1 ? 0
                                   : ferry_proto_error(p, "dropout_ratio", 0, FERRY_EFORMAT,
                                                       "layer \"%s\": a dropout_ratio of %g",
                                                       ferry_layer_name(layer), ratio);
}

/* Emits the mask of TRAIN: 1 / (1 − ratio) for a kept element, 0 for a dropped one. */
static int emit_mask(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "dropout_param", 0);
    double ratio = ferry_proto_real(p, "dropout_ratio", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand out[1];
    ferry_op_desc op;

    if (!ferry_layer_scratch(layer, 0, 1, ferry_blob_shape(bottom), ferry_blob_rank(bottom)))
        return FERRY_ENOMEM;
    ferry_op_desc_init(&op, FERRY_OP_RANDOM);
    op.params.random.distribution = FERRY_RANDOM_BERNOULLI;
    op.params.random.a = 1 - ratio;
    op.params.random.b = 1 / (1 - ratio);
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_scratch(0)), ferry__of_scratch(0));
    return ferry_layer_emit(layer, &op, NULL, out);
}

static int emit_test(ferry_layer *layer)
{
    const struct ferry__term x = ferry__term(layer, ferry__of_bottom(0));
    const struct ferry__term y = ferry__term(layer, ferry__of_top(0));
    int err;

    if (ferry_layer_is_in_place(layer, 0))
        return 0;
    err = ferry__emit_copy(layer, x.o, x.at, y.o, y.at);
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_copy(layer, y.o, ferry__diff(y.at), x.o, ferry__diff(x.at));
    return err;
}

static int reshape(ferry_layer *layer)
{
    int err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));
    struct ferry__term mask;

    if (err)
        return err;
    if (ferry_layer_phase(layer) == FERRY_PHASE_TEST)
        return emit_test(layer);
    err = emit_mask(layer);
    if (err)
        return err;
    mask = ferry__term(layer, ferry__of_scratch(0));
    err = ferry__emit_product(layer, ferry__term(layer, ferry__of_bottom(0)), mask,
                              ferry__term(layer, ferry__of_top(0)));
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_product(layer, ferry__term(layer, ferry__diff(ferry__of_top(0))), mask,
                                  ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
    return err;
}

static const char *const messages[] = { "dropout_param", NULL };

const ferry_layer_type ferry__dropout_layer = {
    .struct_size = sizeof ferry__dropout_layer,
    .name = "Dropout",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
