/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fillers computed from a blob's shape or from uniform numbers, for parameters and for DummyData.
 * (Caffe: Filler.)
 */
#ifndef FERRY_NET_LAYERS_FILLERS_H
#define FERRY_NET_LAYERS_FILLERS_H

#include <ferry/blob.h>
#include <ferry/proto.h>

/* The divisor of xavier and msra: the fan-in, the fan-out, or their mean. */
double ferry__fill_fan(const ferry_blob *b, const ferry_proto *filler);

/* Divides each item's values, uniform in [0, 1), by their sum. */
int ferry__fill_unit_ball(ferry_blob *b);

/*
 * The kernel of bilinear upsampling, the same in every channel; `what` names the blob in messages.
 */
int ferry__fill_bilinear(const ferry_proto *filler, const char *what, ferry_blob *b);

#endif
