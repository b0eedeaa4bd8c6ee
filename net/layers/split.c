/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split: each top is the bottom's contents under another name. Nets insert them where a blob has
 * several consumers. (Caffe: SplitLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_n_tops(layer); i++) {
        err = ferry__top_like(layer, i, ferry_layer_bottom(layer, 0));
        if (!err)
            err = ferry_layer_alias(layer, i, 0);
    }
    return err;
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
