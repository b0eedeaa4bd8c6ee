/* SPDX-License-Identifier: BSD-2-Clause */
/* Reseeding the random numbers of an open net. */
#include "net/model/call.h"
#include "net/model/state.h"

#include <ferry/status.h>

/* Applies the new seed to a layer's records, from their current position. */
static int seed_layer(ferry_layer *layer)
{
    uint64_t position;
    int err;

    if (!layer->type->seed || !layer->type->position || !layer->type->seek)
        return 0;
    position = layer->type->position(layer);
    err = ferry__layer_call(layer, layer->type->seed, "seed");
    return err ? err : ferry__layer_seek(layer, position);
}

int ferry_net_seed(ferry_net *net, uint64_t seed)
{
    int i, err;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_seed: NULL net");
    err = ferry__params_fill(net); /* filled with the seed that the net was opened with */
    if (err)
        return err;
    net->seed = seed ? seed : 1;
    net->drawn = 0;
    for (i = 0; !err && i < net->n_layers; i++)
        err = ferry__layer_failed(&net->layers[i], seed_layer(&net->layers[i]));
    return err;
}
