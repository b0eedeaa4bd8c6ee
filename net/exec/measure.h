/* SPDX-License-Identifier: BSD-2-Clause */
/* The time of layers, and the bytes that they copy. */
#ifndef FERRY_NET_EXEC_MEASURE_H
#define FERRY_NET_EXEC_MEASURE_H

#include "net/exec/exec.h"

/* Runs an item separately and adds its time to its layer's sums. */
int ferry__measure_item(struct ferry__submission *s, const struct ferry__program *p,
                        const struct ferry__item *item);

/* Ends the profiling of the net's queues, if it is on. */
void ferry__measure_end(ferry_net *net);

/* Returns the sums divided by the number of passes. */
void ferry__measure_get(const ferry_layer *layer, ferry_net_layer_info *out);

#endif
