/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Scale and Bias share: a factor or a term of some axes, which is a parameter or a second bottom.
 */
#ifndef FERRY_NET_LAYERS_SCALE_H
#define FERRY_NET_LAYERS_SCALE_H

#include "net/layers/layers.h"

/*
 * Where the parameter or bottom 1 lies beside bottom 0: the axes before it, its own, those behind. With
 * one bottom `dims` of the parameter are bottom 0's from `axis` on, num_axes of them (0: a scalar).
 */
struct ferry__span {
    int first, count; /* axes of bottom 0 */
};

int ferry__span_read(ferry_layer *layer, const ferry_proto *p, struct ferry__span *out);

/* Declares the parameter that goes with the span. */
int ferry__span_declare(ferry_layer *layer, const struct ferry__span *span,
                        const ferry_proto *filler, double value);

/* Bottom 0 (or the top) as outer × span × inner, and what is spread over it as 1 × span × 1. */
ferry_operand ferry__span_image(const ferry_blob *b, const struct ferry__span *span);
ferry_operand ferry__span_operand(const ferry_blob *b, const struct ferry__span *span);

/* With two bottoms: whether the second fits on the first from the span's axis on; sets its count. */
int ferry__span_fit(ferry_layer *layer, struct ferry__span *span);

#endif
