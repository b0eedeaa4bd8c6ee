/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the types with a convolution share: Convolution, Deconvolution, and the forks' depthwise one.
 */
#ifndef FERRY_NET_LAYERS_CONVOLUTION_H
#define FERRY_NET_LAYERS_CONVOLUTION_H

#include "net/layers/layers.h"

struct convolution {
    struct ferry__window window;
    uint32_t group;
    bool transposed, bias;
    int axis; /* of the channels: 1, or as the prototxt says */
    int64_t outputs;
};

/* Reads ConvolutionParameter, declares weights and bias. The group may be given by the type. */
int ferry__convolution_setup(ferry_layer *layer, bool transposed, bool depthwise);
/* Each top from its bottom, all with the same weights. */
int ferry__convolution_reshape(ferry_layer *layer);

/* The weights as an operation takes them: without a spatial axis, or with more than it has, as rows of one. */
ferry_operand ferry__convolution_weights(ferry_layer *layer, const struct convolution *c);

/* What bottom k gives where there are more spatial axes than an operation has, and the way back (convolution_wide.c). */
int ferry__convolution_emit_wide(ferry_layer *layer, const struct convolution *c, int k);

#endif
