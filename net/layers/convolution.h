/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the types with a convolution share: Convolution, Deconvolution, and the forks' depthwise one.
 */
#ifndef FERRY_NET_LAYERS_CONVOLUTION_H
#define FERRY_NET_LAYERS_CONVOLUTION_H

#include "net/layers/layers.h"

struct convolution {
    ferry_op_window window;
    int axis; /* of the channels: 1, or as the prototxt says */
    int64_t outputs;
    bool bias;
};

/* Reads ConvolutionParameter, declares weights and bias. The group may be given by the type. */
int ferry__convolution_setup(ferry_layer *layer, bool transposed, bool depthwise);
/* Each top from its bottom, all with the same weights. */
int ferry__convolution_reshape(ferry_layer *layer);

#endif
