/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/exec/traced.h"

#include <ferry/profile.h>

/* Reports the memories that a layer's own function reads; an operation reports its own. */
static void report_reads(const struct ferry__item *item)
{
    const ferry_layer *layer = item->layer;

    for (int i = 0; item->call && i < ferry_layer_bottom_count(layer); i++)
        ferry_trace_reads(ferry_blob_data_memory(ferry_layer_bottom_at(layer, i)));
}

int ferry__trace_item(struct ferry__submission *s, const struct ferry__program *p,
                      const struct ferry__item *item)
{
    int err;

    ferry_trace_push(ferry_layer_queue(item->layer), item->back ? "backward" : "layer",
                     item->layer->name);
    err = ferry__item_run(s, p, item);
    if (!err)
        err = ferry__submission_end(s, 0);
    report_reads(item);
    ferry_trace_pop();
    return err;
}
