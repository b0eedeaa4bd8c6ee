/* SPDX-License-Identifier: BSD-2-Clause */
/* Reshapes tops to follow the shapes of the inputs. */
#include "net/model/call.h"
#include "net/model/state.h"
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* Whether a blob still has the recorded shape. */
static bool is_as_noted(const struct ferry__net_blob *b)
{
    int rank = ferry_blob_rank(b->blob);

    return b->rank == rank &&
           (!rank || !memcmp(b->shape, ferry_blob_shape(b->blob), (size_t)rank * sizeof *b->shape));
}

bool ferry__net_is_shaped(const ferry_net *net)
{
    int i;

    for (i = 0; i < net->n_blobs; i++)
        if (net->blobs[i].input && !is_as_noted(&net->blobs[i]))
            return false;
    return true;
}

/* Sets *out if a blob's shape differs from the recorded shape, and records the current shape. */
static int has_changed(struct ferry__net_blob *b, bool *out)
{
    int rank = ferry_blob_rank(b->blob);
    const int64_t *shape = ferry_blob_shape(b->blob);
    int64_t *grown;

    if (is_as_noted(b))
        return 0;
    *out = true;
    if (rank > b->rank || !b->shape) {
        grown = realloc(b->shape, (size_t)(rank + 1) * sizeof *grown);
        if (!grown)
            return ferry_error_set(FERRY_ENOMEM, "net: no memory for a shape");
        b->shape = grown;
    }
    if (rank)
        memcpy(b->shape, shape, (size_t)rank * sizeof *shape);
    b->rank = rank;
    return 0;
}

/*
 * Whether a top also shares its bottom's diff: it does if no other top shares that bottom. A Split
 * has one diff for each top.
 */
static bool shares_diff(const ferry_layer *layer, int top)
{
    int i;

    if (layer->type == &ferry__split_layer)
        return false;
    for (i = 0; i < layer->n_tops; i++)
        if (i != top && layer->alias[i] == layer->alias[top])
            return false;
    return true;
}

static int share_aliases(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < layer->n_tops; i++) {
        struct ferry__net_blob *top = &layer->net->blobs[layer->tops[i]];
        int before = top->alias;

        if (ferry_layer_is_in_place(layer, i)) /* the producer of the blob whose contents are shared
                                                * sets its shape */
            continue;
        top->alias = layer->alias[i] < 0 ? -1 : layer->bottoms[layer->alias[i]];
        if (top->alias != before)
            layer->net->in_place = 0;
        if (top->alias < 0)
            continue;
        err = ferry_blob_share_data(top->blob, layer->net->blobs[top->alias].blob);
        if (!err && layer->net->backward && shares_diff(layer, i))
            err = ferry_blob_share_diff(top->blob, layer->net->blobs[top->alias].blob);
    }
    return err;
}

/* Whether something computes top `index`: forward, operations, its bottom or the program. */
static bool is_computed(const ferry_layer *layer, int index)
{
    return layer->type->forward || layer->forward.count || layer->alias[index] >= 0 ||
           layer->type->flags & FERRY_LAYER_INPUT || ferry_layer_is_in_place(layer, index) ||
           !ferry_blob_element_count(ferry_layer_top_at(layer, index));
}

static int check_tops(const ferry_layer *layer)
{
    int i;

    for (i = 0; i < layer->n_tops; i++)
        if (!is_computed(layer, i))
            return ferry_layer_error(
                layer, FERRY_EPLUGIN,
                "nothing computes top %d: the type has no forward, and reshape "
                "emitted no operations",
                i);
    return 0;
}

static int reshape_layer(ferry_layer *layer)
{
    int err;

    ferry__layer_forget(layer);
    layer->fresh = true;
    layer->net->shaping = true;
    err = ferry__layer_misfit(layer, ferry__layer_call(layer, layer->type->reshape, "reshape"));
    layer->net->shaping = false;
    if (!err)
        err = check_tops(layer);
    if (!err)
        err = ferry__layer_failed(layer, share_aliases(layer));
    layer->fresh = err != 0;
    return err;
}

/*
 * Marks the consumers of blob b after layer `producer` for reshape, if its shape differs from the
 * recorded one.
 */
static int note_shape(ferry_net *net, int b, int producer)
{
    bool changed = false;
    int i, k, err = has_changed(&net->blobs[b], &changed);

    for (i = producer + 1; changed && i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].n_bottoms; k++)
            if (net->layers[i].bottoms[k] == b)
                net->layers[i].fresh = true;
    return err;
}

static int reshape_if_fresh(ferry_layer *layer)
{
    int k, err;

    if (!layer->fresh)
        return 0;
    ferry__stage_spoil(layer->net, layer->index);
    err = reshape_layer(layer);
    for (k = 0; !err && k < layer->n_tops; k++)
        err = note_shape(layer->net, layer->tops[k], layer->index);
    return err;
}

int ferry__net_reshape(ferry_net *net, int first, int last)
{
    int i, err = 0;

    for (i = 0; !err && i < net->n_watched; i++)
        err = note_shape(net, net->watched[i], net->blobs[net->watched[i]].producer);
    for (i = first; !err && i <= last; i++)
        err = reshape_if_fresh(&net->layers[i]);
    return err;
}

/* ---- after a pass that ran out of memory ----------------------------------------------------- */

/*
 * Gives a blob memory for its present shape alone, if an earlier shape has left it more. Its diff
 * is dropped, and its data unless `keep`.
 */
static int shrink(const ferry_net *net, ferry_blob *b, bool keep)
{
    ferry_blob *smaller;
    int err;

    if (!b || ferry_blob_capacity(b) <= ferry_blob_element_count(b))
        return 0;
    err = ferry_blob_create(ferry_blob_home(b), ferry_blob_dtype(b), ferry_blob_shape(b),
                            ferry_blob_rank(b), &smaller);
    if (err)
        return err;
    if (keep && ferry_memory_head(ferry_blob_data_memory(b)) != FERRY_HEAD_UNINITIALIZED)
        err = ferry_blob_copy_from(smaller, b, 0);
    if (!err)
        err = ferry_blob_share_data(b, smaller);
    if (!err && net->backward)
        err = ferry_blob_share_diff(b, smaller);
    ferry_blob_destroy(smaller);
    return err;
}

/* Shrinks the tops that a layer computes, and its scratch. */
static int shrink_layer(ferry_layer *layer)
{
    ferry_net *net = layer->net;
    int i, err = 0;

    for (i = 0; !err && i < layer->n_tops; i++) {
        const struct ferry__net_blob *top = &net->blobs[layer->tops[i]];

        if (top->alias < 0 && !(layer->type->flags & FERRY_LAYER_INPUT) &&
            !ferry_layer_is_in_place(layer, i))
            err = shrink(net, top->blob, false);
    }
    for (i = 0; !err && i < layer->n_scratch; i++)
        err = shrink(net, layer->scratch[i].blob, layer->scratch[i].keep);
    return err ? err : share_aliases(layer);
}

int ferry__net_shrink(ferry_net *net, int first, int last)
{
    int i, err = 0;

    for (i = first; !err && i <= last; i++)
        err = ferry__layer_failed(&net->layers[i], shrink_layer(&net->layers[i]));
    return err;
}
