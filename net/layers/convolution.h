/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The convolution of convolution.c, which convolution_wide.c emits for many spatial axes.
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

/* The weights as an operation takes them: without a spatial axis, or with more than it has, as rows of one. */
ferry_operand ferry__convolution_weights(ferry_layer *layer, const struct convolution *c);

/* What bottom k gives where there are more spatial axes than an operation has, and the way back (convolution_wide.c). */
int ferry__convolution_emit_wide(ferry_layer *layer, const struct convolution *c, int k);

#endif
