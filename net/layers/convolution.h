/* SPDX-License-Identifier: BSD-2-Clause */
/* The convolution of convolution.c; convolution_wide.c emits it for many spatial axes. */
#ifndef FERRY_NET_LAYERS_CONVOLUTION_H
#define FERRY_NET_LAYERS_CONVOLUTION_H

#include "net/layers/emit.h"

struct convolution {
    struct ferry__window window;
    uint32_t group;
    bool transposed, bias;
    int axis; /* the channel axis: 1, or as the prototxt sets it */
    int64_t outputs;
};

/*
 * The weights as the operation's operand: with no spatial axis, or with more than an operation
 * supports, as rows of one element.
 */
ferry_operand ferry__convolution_weights(ferry_layer *layer, const struct convolution *c);

/*
 * Emits the top of bottom k, and backward, for more spatial axes than an operation supports
 * (convolution_wide.c).
 */
int ferry__convolution_emit_wide(ferry_layer *layer, const struct convolution *c, int k);

#endif
