/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ConvolutionDepthwise (convolution_param): Convolution with a group of its own for each channel, whatever
 * `group` says. (Forks for MobileNet.)
 */
#include "net/layers/convolution.h"

static int setup(ferry_layer *layer)
{
    return ferry__convolution_setup(layer, false, true);
}

static const char *const messages[] = { "convolution_param", NULL };

const ferry_layer_type ferry__convolution_depthwise_layer = {
    .struct_size = sizeof ferry__convolution_depthwise_layer,
    .name = "ConvolutionDepthwise",
    .state_size = sizeof(struct convolution),
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .flags = FERRY_LAYER_PAIRS,
    .messages = messages,
    .setup = setup,
    .reshape = ferry__convolution_reshape,
};
