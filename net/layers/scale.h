/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by Scale and Bias: a factor or a bias over some axes, which is a parameter or a second
 * bottom.
 */
#ifndef FERRY_NET_LAYERS_SCALE_H
#define FERRY_NET_LAYERS_SCALE_H

#include "net/layers/emit.h"

/*
 * The position of the parameter or bottom 1 among bottom 0's axes: the axes before it, its own,
 * those after it. With one bottom the parameter's `dims` are num_axes of bottom 0's from `axis` on
 * (0: a scalar).
 */
struct ferry__span {
    int first, count; /* axes of bottom 0 */
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
