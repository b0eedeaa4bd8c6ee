/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of segments for the rest of the net: a pass, and functions for forward passes. */
#ifndef FERRY_NET_SEGMENT_SEGMENT_H
#define FERRY_NET_SEGMENT_SEGMENT_H

#include "net/ir/program.h"

/*
 * Offers the program's operations to the plugins of its layers' devices, and replaces each claimed
 * segment by an item. No change if no plugin has "ferry.graph/1". FERRY_ENOMEM.
 */
int ferry__pass_segment(struct ferry__program *p);

/*
 * Compiles the program's segments that are not compiled. *out_refused: the plugin could not compile
 * one; its layers are marked (ferry_layer.alone), and the program has to be made again.
 */
int ferry__segments_prepare(struct ferry__program *p, bool *out_refused);

/* Runs the segment of an item. */
int ferry__segment_item_run(const struct ferry__item *item);

/* The number of the segment that computes some of a layer's operations, from 1 on; 0: none. */
int ferry__segment_of_layer(const struct ferry__program *p, int layer);

#endif
