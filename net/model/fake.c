/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/fake.h"

#include "net/layers/layers.h"
#include "net/model/ranges.h"

#include <math.h>

/* The class of a blob of the net; NULL: it belongs to none. */
static struct ferry__fake_class *class_of(const ferry_net *net, int blob)
{
    int k = ferry__names_get(&net->fake->of, net->blobs[blob].name);

    while (k < 0 && net->blobs[blob].alias >= 0) {
        blob = net->blobs[blob].alias;
        k = ferry__names_get(&net->fake->of, net->blobs[blob].name);
    }
    return k < 0 ? NULL : &net->fake->at[k];
}

static bool is_fake(const ferry_layer *layer)
{
    return layer->type == layer->net->fake->type;
}

static void add_range(struct ferry__fake_class *c, const struct ferry__net_blob *b)
{
    c->least = c->has_range ? fminf(c->least, b->least) : b->least;
    c->most = c->has_range ? fmaxf(c->most, b->most) : b->most;
    c->has_range = true;
}

void ferry__fake_update(ferry_net *net)
{
    struct ferry__fake_class *c;
    int i;

    if (!net->fake)
        return;
    for (i = 0; i < net->fake->count; i++)
        net->fake->at[i].has_range = net->fake->at[i].used = false;
    for (i = 0; i < net->n_blobs; i++) {
        const struct ferry__net_blob *b = &net->blobs[ferry__net_root(net, i)];

        c = b->has_range ? class_of(net, i) : NULL;
        if (c)
            add_range(c, b);
    }
    for (i = 0; i < net->n_layers; i++) {
        ferry_layer *layer = &net->layers[i];

        if (ferry__fake_is_product(layer->type->name) || is_fake(layer))
            layer->fresh = true;
        if (ferry__layer_rounds_weights(layer))
            class_of(net, layer->bottoms[0])->used = true;
    }
    for (bool more = true; more;) {
        more = false;
        for (i = 0; i < net->fake->count; i++) {
            c = &net->fake->at[i];
            if (!c->used && c->feeds >= 0 && net->fake->at[c->feeds].used)
                more = c->used = true;
        }
    }
}

bool ferry__fake_is_active(const ferry_net *net)
{
    for (int i = 0; net->fake && i < net->n_layers; i++)
        if (ferry__layer_rounds_weights(&net->layers[i]))
            return true;
    return false;
}

void ferry__fake_end(ferry_net *net)
{
    if (net->fake)
        ferry__names_end(&net->fake->of);
}

/* ---- for the layers -------------------------------------------------------------------------- */

bool ferry__layer_rounds_weights(const ferry_layer *layer)
{
    const struct ferry__fake_class *c;

    if (!layer->net->fake || layer->float_only || !ferry__fake_is_product(layer->type->name) ||
        !layer->n_bottoms)
        return false;
    c = class_of(layer->net, layer->bottoms[0]);
    return c && c->has_range;
}

bool ferry__layer_grid(const ferry_layer *layer, double *out_scale, double *out_least,
                       double *out_most)
{
    const struct ferry__fake_class *c = class_of(layer->net, layer->bottoms[0]);
    struct ferry__grid grid;

    if (!c || !c->has_range || !c->used)
        return false;
    grid = ferry__grid_of(c->least, c->most, !c->padded);
    *out_scale = (double)grid.scale;
    *out_least = grid.dtype == FERRY_U8 ? -(double)grid.zero : -128;
    *out_most = grid.dtype == FERRY_U8 ? 255 - (double)grid.zero : 127;
    return true;
}
