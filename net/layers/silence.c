/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Silence: consumes bottoms that no other layer uses, so that they are not outputs. (Caffe:
 * SilenceLayer.)
 */
#include "net/layers/emit.h"

/* Emits zeros as the bottoms' diffs for force_backward. */
static int reshape(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_bottom_count(layer); i++)
        if (ferry_layer_propagates(layer, i))
            err = ferry__emit_zeros(layer, ferry__diff(ferry__of_bottom(i)), 0);
    return err;
}

const ferry_layer_type ferry__silence_layer = {
    .struct_size = sizeof ferry__silence_layer,
    .name = "Silence",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 0,
    .max_tops = 0,
    .reshape = reshape,
};
