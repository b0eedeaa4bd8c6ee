/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split: each top shares the bottom's contents under another name. Nets insert Splits for blobs
 * with several consumers. (Caffe: SplitLayer.)
 */
#include "net/layers/emit.h"

/* Emits the bottom's diff, the sum of the tops' diffs; with one top it is a copy. */
static int emit_sum(ferry_layer *layer)
{
    ferry_layer_operand sum = ferry__diff(ferry__of_bottom(0));
    ferry_operand o = ferry_operand_make(
        FERRY_F32, (int64_t[]){ ferry_blob_element_count(ferry_layer_bottom_at(layer, 0)) }, 1,
        NULL);
    int i, err = 0;

    if (ferry_layer_top_count(layer) == 1)
        return ferry__emit_copy(layer, o, ferry__diff(ferry__of_top(0)), o, sum);
    for (i = 1; !err && i < ferry_layer_top_count(layer); i++)
        err = ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, o,
                                 i == 1 ? ferry__diff(ferry__of_top(0)) : sum, o,
                                 ferry__diff(ferry__of_top(i)), o, sum);
    return err;
}

static int reshape(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_top_count(layer); i++) {
        err = ferry__top_like(layer, i, ferry_layer_bottom_at(layer, 0));
        if (!err)
            err = ferry_layer_alias(layer, i, 0);
    }
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_sum(layer);
}

const ferry_layer_type ferry__split_layer = {
    .struct_size = sizeof ferry__split_layer,
    .name = "Split",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = -1,
    .reshape = reshape,
};
