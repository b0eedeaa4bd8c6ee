/* SPDX-License-Identifier: BSD-2-Clause */
/* ferry_net_reshape: computes shapes, and selects the programs for them. */
#include "net/exec/exec.h"
#include "net/model/call.h"

#include <ferry/status.h>

int ferry_net_reshape(ferry_net *net)
{
    int i, err;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_reshape: NULL net");
    ferry__stages_update(net);
    err = ferry__net_reshape(net, 0, net->n_layers - 1);
    for (i = 0; !err && i < net->stage_count; i++)
        err = ferry__stage_choose(net, &net->stages[i]);
    return ferry__net_failed(net, err);
}
