/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which layers run backward, and which diffs of their bottoms are needed. As in Caffe: from
 * the parameters that are trained down to the losses, and from the losses up again.
 */
#include "net/model/state.h"

#include <ferry/status.h>

#include <string.h>

/*
 * Marks the layers from the first on: a layer runs backward if the diff of one of its bottoms or
 * parameters is needed, and so do the layers after it.
 */
static int mark_down(ferry_net *net, ferry_layer *layer)
{
    int n = (int)ferry_proto_value_count(layer->message, "propagate_down"), i;

    if (n && n != layer->n_bottoms)
        return ferry_layer_error(layer, FERRY_EFORMAT, "it has %d bottoms and %d propagate_down",
                                 layer->n_bottoms, n);
    for (i = 0; i < layer->n_bottoms; i++) {
        bool wanted = net->blobs[layer->bottoms[i]].backward;

        layer->propagate[i] = n ? ferry_proto_boolean(layer->message, "propagate_down", i) : wanted;
        layer->needs_backward = layer->needs_backward || wanted;
    }
    for (i = 0; i < layer->n_params; i++)
        layer->needs_backward = layer->needs_backward || layer->params[i].lr_mult != 0;
    for (i = 0; layer->needs_backward && i < layer->n_tops; i++)
        net->blobs[layer->tops[i]].backward = true;
    return 0;
}

/* The state of a blob on the way up: a loss depends on it; no consumer needs its diff. */
struct downstream {
    bool loss, skipped;
};

/*
 * Marks the layers from the last on: a layer does not run backward if it contributes to no loss, or
 * if no later layer needs the diffs of its tops.
 */
static void mark_up(ferry_layer *layer, struct downstream *downstream)
{
    bool contributes = false, skip = true;
    int i;

    for (i = 0; i < layer->n_tops; i++) {
        const struct downstream *top = &downstream[layer->tops[i]];

        contributes = contributes || layer->loss_weights[i] != 0 || top->loss;
        skip = skip && top->skipped;
    }
    if (layer->needs_backward && skip) {
        layer->needs_backward = false;
        memset(layer->propagate, 0, (size_t)layer->n_bottoms * sizeof *layer->propagate);
    }
    layer->needs_backward = layer->needs_backward && contributes;
    ferry_log_write(FERRY_LOG_INFO,
                    layer->needs_backward ? "%s needs backward computation."
                                          : "%s does not need backward computation.",
                    layer->name);
    for (i = 0; i < layer->n_bottoms; i++) {
        struct downstream *bottom = &downstream[layer->bottoms[i]];

        layer->propagate[i] = layer->propagate[i] && contributes;
        bottom->loss = bottom->loss || contributes;
        bottom->skipped = bottom->skipped || !layer->propagate[i];
    }
}

/*
 * ---- refused diffs
 * -------------------------------------------------------------------------------
 */

static const char *refusal(const ferry_layer *layer, int bottom)
{
    if (layer->type->flags & FERRY_LAYER_FORWARD_ONLY)
        return "Not Implemented Yet";
    if (layer->type->refuses)
        return layer->type->refuses(layer, bottom);
    return bottom && layer->type->flags & FERRY_LAYER_LABELS
               ? "Layer cannot backpropagate to label inputs."
               : NULL;
}

/* Applies force_backward: all layers run backward, except those that cannot be differentiated. */
static void force(ferry_layer *layer)
{
    int i;

    layer->needs_backward = layer->forced = true;
    for (i = 0; i < layer->n_bottoms; i++) {
        const char *why = refusal(layer, i);

        if (!why)
            layer->propagate[i] = true;
        else if (!layer->propagate[i])
            ferry_log_write(FERRY_LOG_INFO,
                            "ferry: force_backward does not reach bottom %d of layer \"%s\": %s %s",
                            i, layer->name, layer->type->name, why);
    }
}

/*
 * Records that a needed diff cannot be computed. This is an error of the backward pass, not of
 * opening the net.
 */
static void find_refused(ferry_layer *layer)
{
    int i;

    for (i = 0; layer->needs_backward && i < layer->n_bottoms; i++)
        if (layer->propagate[i] && !layer->refused)
            layer->refused = refusal(layer, i);
}

int ferry__net_needs(ferry_net *net)
{
    struct downstream *downstream =
        ferry__mem_alloc(&net->arena, (size_t)(net->n_blobs + 1) * sizeof *downstream);
    bool forced = ferry_proto_boolean(net->proto, "force_backward", 0);
    int i, err = 0;

    if (!downstream)
        return ferry_error_set(FERRY_ENOMEM, "net \"%s\": no memory for its blobs", net->name);
    for (i = 0; !err && i < net->n_layers; i++)
        err = mark_down(net, &net->layers[i]);
    for (i = net->n_layers; !err && i-- > 0;)
        mark_up(&net->layers[i], downstream);
    for (i = 0; !err && i < net->n_layers; i++) {
        ferry_layer *layer = &net->layers[i];

        if (forced)
            force(layer);
        find_refused(layer);
        layer->fresh = layer->fresh || ferry_layer_needs_backward(layer);
    }
    return err;
}
