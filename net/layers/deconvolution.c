/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deconvolution (convolution_param): the transpose of Convolution, so that an axis gets stride·(in − 1)
 * + dilation·(kernel − 1) + 1 − 2·pad elements. Weights (C, O/group, kernel…). (Caffe:
 * DeconvolutionLayer.)
 */
#include "net/layers/convolution.h"

static int setup(ferry_layer *layer)
{
    return ferry__convolution_setup(layer, true, false);
}

static const char *const messages[] = { "convolution_param", NULL };

const ferry_layer_type ferry__deconvolution_layer = {
    .struct_size = sizeof ferry__deconvolution_layer,
    .name = "Deconvolution",
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
