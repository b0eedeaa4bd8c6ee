/* SPDX-License-Identifier: BSD-2-Clause */
/* Moving a net to another device, and sharing another net's weights. */
#include "net/exec/exec.h"
#include "net/exec/measure.h"
#include "net/model/narrow.h"
#include "net/model/place.h"
#include "net/model/ranges.h"
#include "net/model/reread.h"

#include <ferry/status.h>

#include <string.h>

/*
 * ---- moving ------------------------------------------------------------------------------------
 */

/* The device of a layer when the net's own device is `dev`. */
static ferry_device *belongs(const ferry_net *net, const ferry_layer *layer, ferry_device *dev)
{
    ferry_device *held = ferry__place_of(net->place, layer->name, layer->type->name);

    return held ? held : dev;
}

static int move_layer(ferry_layer *layer, ferry_device *dev)
{
    int i, err = 0;

    for (i = 0; !err && i < layer->n_params; i++) {
        ferry__narrow_end(&layer->params[i]);
        if (layer->params[i].owner == layer->index)
            err = ferry_blob_move_to(layer->params[i].blob, dev);
    }
    for (i = 0; !err && i < layer->n_scratch; i++)
        if (layer->scratch[i].blob)
            err = ferry_blob_move_to(layer->scratch[i].blob, dev);
    for (i = 0; !err && i < layer->n_tops; i++)
        err = ferry_blob_move_to(ferry_layer_top_at(layer, i), dev);
    if (err)
        return err;
    layer->device = dev;
    layer->fresh = true;
    return 0;
}

static int move_all(ferry_net *net, ferry_device *dev)
{
    int i, err = 0;

    ferry__stages_forget(net);
    for (i = 0; !err && i < net->n_layers; i++)
        err = ferry__layer_failed(&net->layers[i],
                                  move_layer(&net->layers[i], belongs(net, &net->layers[i], dev)));
    return err;
}

int ferry_net_move_to(ferry_net *net, ferry_device *dev)
{
    int err;

    if (!net || !dev)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_move_to: NULL argument");
    err = ferry__reread_keep(net);
    if (err)
        return err;
    ferry__measure_end(net); /* the profiled queues belong to the old device */
    err = move_all(net, dev);
    if (!err)
        err = ferry_net_reshape(net);
    if (err) {
        move_all(net, net->device); /* changing homes back needs no memory, so it does not fail */
        return err;
    }
    net->device = dev;
    return 0;
}

/*
 * ---- sharing -----------------------------------------------------------------------------------
 */

static int layer_fits(const ferry_layer *to, const ferry_layer *from)
{
    char mine[128], theirs[128];
    int i;

    if (to->n_params != from->n_params)
        return ferry_layer_error(to, FERRY_ESHAPE,
                                 "it has %d blobs of parameters, the source's has %d", to->n_params,
                                 from->n_params);
    for (i = 0; i < to->n_params; i++) {
        if (ferry_blob_shape_equals(to->params[i].blob, from->params[i].blob) == 1)
            continue;
        ferry_blob_shape_string(to->params[i].blob, mine, sizeof mine);
        ferry_blob_shape_string(from->params[i].blob, theirs, sizeof theirs);
        return ferry_layer_error(to, FERRY_ESHAPE, "its blob %d is %s, the source's is %s", i, mine,
                                 theirs);
    }
    return 0;
}

static int share_layer(ferry_layer *to, const ferry_layer *from)
{
    int i, err = 0;

    for (i = 0; !err && i < to->n_params; i++) {
        err = ferry_blob_share_data(to->params[i].blob, from->params[i].blob);
        to->params[i].unfilled = to->params[i].unfilled && err;
        if (!err)
            err = ferry__narrow_share(to->net, &to->params[i], &from->params[i]);
    }
    to->prepared = 0;
    return err;
}

/* Whether a net brackets its reads of parameters that have origins (op/origin.h). */
static bool may_be_lazy(const ferry_net *net, const ferry_net *source)
{
    return net->reread ||
           (!source->reread && net->phase == FERRY_PHASE_TEST && !net->backward);
}

int ferry_net_share(ferry_net *net, ferry_net *source)
{
    int i, k, err;

    if (!net || !source)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_share: NULL argument");
    err = ferry__params_fill(source);
    ferry__folds_forget(net);
    for (i = 0; i < net->n_layers; i++)
        ferry__integers_forget(&net->layers[i]);
    for (i = 0; !err && i < net->n_layers; i++) {
        k = ferry__net_find_layer(source, net->layers[i].name);
        if (k >= 0)
            err = layer_fits(&net->layers[i], &source->layers[k]);
    }
    if (!err && source->lazy && (!may_be_lazy(net, source) || !net->unfilled))
        err = ferry__reread_keep(source); /* read at any time: by this net, or through a blob that
                                           * the program may hold */
    net->lazy = net->lazy || (source->lazy && may_be_lazy(net, source));
    for (i = 0; !err && i < net->n_layers; i++) {
        k = ferry__net_find_layer(source, net->layers[i].name);
        if (k >= 0)
            err = share_layer(&net->layers[i], &source->layers[k]);
    }
    if (!err)
        ferry__ranges_share(net, source);
    return err;
}
