/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes layers as slices into the trace of FERRY_TRACE. */
#ifndef FERRY_NET_EXEC_TRACED_H
#define FERRY_NET_EXEC_TRACED_H

#include "net/exec/measure.h"

/* Runs an item, and submits its work, in a slice with the layer's name. */
int ferry__trace_item(struct ferry__submission *s, const struct ferry__program *p,
                      const struct ferry__item *item);

/* Runs an item of a pass: measured or traced separately if the net is measured or traced. */
static inline int ferry__item_run_apart(struct ferry__submission *s, const struct ferry__program *p,
                                        const struct ferry__item *item)
{
    if (p->net->measured)
        return ferry__measure_item(s, p, item);
    return p->net->traced ? ferry__trace_item(s, p, item) : ferry__item_run(s, p, item);
}

#endif
