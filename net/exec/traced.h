/* SPDX-License-Identifier: BSD-2-Clause */
/* Layers as slices of the trace that FERRY_TRACE asks for. */
#ifndef FERRY_NET_EXEC_TRACED_H
#define FERRY_NET_EXEC_TRACED_H

#include "net/exec/measure.h"

/* Runs an item, and submits its work, in a slice with the layer's name. */
int ferry__trace_item(struct ferry__submission *s, const struct ferry__program *p,
                      const struct ferry__item *item);

/* Runs an item as the net's passes are: measured or traced, each layer apart, or neither. */
static inline int ferry__item_run_apart(struct ferry__submission *s, const struct ferry__program *p,
                                        const struct ferry__item *item)
{
    if (p->net->measured)
        return ferry__measure_item(s, p, item);
    return p->net->traced ? ferry__trace_item(s, p, item) : ferry__item_run(s, p, item);
}

#endif
