/* SPDX-License-Identifier: BSD-2-Clause */
/* Stages: runs of consecutive layers, split where shapes depend on data. */
#include "net/model/state.h"

#include <ferry/status.h>

#include <stdlib.h>

int ferry__stages_make(ferry_net *net)
{
    int i, first = 0;

    net->stages = calloc((size_t)net->n_layers + 1, sizeof *net->stages);
    if (!net->stages)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
    for (i = 0; i < net->n_layers; i++)
        if (net->layers[i].type->flags & FERRY_LAYER_RESHAPES || i == net->n_layers - 1) {
            net->stages[net->stage_count++] = (struct ferry__stage){ .first = first, .last = i };
            first = i + 1;
        }
    return 0;
}

struct ferry__stage *ferry__stage_of(const ferry_net *net, int layer)
{
    int low = 0, high = net->stage_count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (net->stages[middle].last >= layer)
            high = middle;
        else
            low = middle + 1;
    }
    return low < net->stage_count ? &net->stages[low] : NULL;
}

void ferry__stage_spoil(ferry_net *net, int layer)
{
    struct ferry__stage *stage = ferry__stage_of(net, layer);

    if (stage)
        stage->now = NULL;
}
