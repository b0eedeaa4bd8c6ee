/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by Scale and Bias: a factor or a bias over some axes, which is a parameter or a second
 * bottom.
 */
#ifndef FERRY_NET_LAYERS_SCALE_H
#define FERRY_NET_LAYERS_SCALE_H

#include "net/layers/emit.h"

/*
 * The position of the parameter or of bottom 1 among the axes of bottom 0, which are split into the
 * axes before it, its own axes, and the axes after it. With one bottom, the `dims` of the parameter
 * are those of num_axes axes of bottom 0 from `axis` on (0: a scalar).
 */
struct ferry__span {
    int first, count; /* the first axis of bottom 0, and the number of axes */
};

int ferry__span_read(ferry_layer *layer, const ferry_proto *p, struct ferry__span *out);

/* Declares the parameter of the span. */
int ferry__span_declare(ferry_layer *layer, const struct ferry__span *span,
                        const ferry_proto *filler, double value);

/* Bottom 0 (or the top) as outer × span × inner, and the broadcast operand as 1 × span × 1. */
ferry_operand ferry__span_image(const ferry_blob *b, const struct ferry__span *span);
ferry_operand ferry__span_operand(const ferry_blob *b, const struct ferry__span *span);

/*
 * With two bottoms: checks that the second matches the first from the span's axis on; sets its
 * count.
 */
int ferry__span_fit(ferry_layer *layer, struct ferry__span *span);

#endif
