/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Silence: takes bottoms that nobody else wants, so that they are no outputs. (Caffe: SilenceLayer.)
 */
#include "net/layers/layers.h"

static int reshape(ferry_layer *layer)
{
    (void)layer;
    return 0;
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
