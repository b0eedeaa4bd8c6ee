/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a net: cut into stages, found by shapes, made, forgotten. */
#include "net/ir/program.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
}

/* ---- stages -------------------------------------------------------------------------------------- */

int ferry__stages_make(ferry_net *net)
{
    int i, first = 0;

    net->stages = calloc((size_t)net->n_layers + 1, sizeof *net->stages);
    if (!net->stages)
        return no_memory();
    for (i = 0; i < net->n_layers; i++)
        if (net->layers[i].type->flags & FERRY_LAYER_RESHAPES || i == net->n_layers - 1) {
            net->stages[net->stage_count++] = (struct ferry__stage){ .first = first, .last = i };
            first = i + 1;
        }
    return 0;
}

static void end(struct ferry__program *p)
{
    int i;

    if (!p)
        return;
    for (i = 0; i < p->n_items; i++)
        ferry_operation_destroy(p->items[i].prepared);
    for (i = 0; i < p->n_back; i++)
        ferry_operation_destroy(p->back[i].prepared);
    free(p->items);
    free(p->back);
    free(p->values);
    free(p->of_blob);
    free(p->shapes);
    free(p);
}

void ferry__stages_forget(ferry_net *net)
{
    int i, k;

    for (i = 0; i < net->stage_count; i++) {
        net->stages[i].now = NULL;
        for (k = 0; k < FERRY__NET_KEPT; k++) {
            end(net->stages[i].kept[k]);
            net->stages[i].kept[k] = NULL;
        }
    }
    ferry__folds_end(net);
    ferry__arenas_end(net);
}

void ferry__stages_end(ferry_net *net)
{
    ferry__stages_forget(net);
    free(net->stages);
    net->stages = NULL;
    net->stage_count = 0;
}

struct ferry__stage *ferry__stage_of(const ferry_net *net, int layer)
{
    int i;

    for (i = 0; i < net->stage_count; i++)
        if (net->stages[i].last >= layer)
            return &net->stages[i];
    return NULL;
}

void ferry__stage_spoil(ferry_net *net, int layer)
{
    struct ferry__stage *stage = ferry__stage_of(net, layer);

    if (stage)
        stage->now = NULL;
}

/* There is room: a stage has at least one layer, and the array as many entries as there are layers. */
void ferry__stage_cut(ferry_net *net, int layer)
{
    struct ferry__stage *stage = ferry__stage_of(net, layer);
    int k;

    if (stage->first == layer)
        return;
    for (k = 0; k < FERRY__NET_KEPT; k++)
        end(stage->kept[k]);
    memmove(stage + 1, stage, (size_t)(&net->stages[net->stage_count] - stage) * sizeof *stage);
    net->stage_count++;
    stage[0] = (struct ferry__stage){ .first = stage[1].first, .last = layer - 1 };
    stage[1] = (struct ferry__stage){ .first = layer, .last = stage[1].last };
}

/* ---- what a program is for ------------------------------------------------------------------------ */

/*
 * Walks over the shapes of the layers' bottoms and tops: counts their numbers where `shapes` is NULL,
 * compares or, with `fill`, writes them otherwise. The count, or −1 where one differs.
 */
static int walk_shapes(const ferry_net *net, const struct ferry__stage *stage, int64_t *shapes,
                       bool fill)
{
    int i, k, a, n = 0;

    for (i = stage->first; i <= stage->last; i++) {
        const ferry_layer *layer = &net->layers[i];

        for (k = 0; k < layer->n_bottoms + layer->n_tops; k++) {
            const ferry_blob *b = k < layer->n_bottoms
                                      ? ferry_layer_bottom_at(layer, k)
                                      : ferry_layer_top_at(layer, k - layer->n_bottoms);

            for (a = -1; a < ferry_blob_rank(b); a++, n++) {
                int64_t number = a < 0 ? ferry_blob_rank(b) : ferry_blob_dim(b, a);

                if (shapes && fill)
                    shapes[n] = number;
                else if (shapes && shapes[n] != number)
                    return -1;
            }
        }
    }
    return n;
}

static struct ferry__program *find(const ferry_net *net, const struct ferry__stage *stage)
{
    int i;

    for (i = 0; i < FERRY__NET_KEPT; i++)
        if (stage->kept[i] && walk_shapes(net, stage, stage->kept[i]->shapes, false) >= 0)
            return stage->kept[i];
    return NULL;
}

/* ---- making --------------------------------------------------------------------------------------- */

static int prepare(struct ferry__program *p)
{
    int i, err;

    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];

        if (item->call || item->dropped)
            continue;
        err = ferry__item_prepare(p, item);
        if (err)
            return err;
    }
    return 0;
}

static int make(ferry_net *net, const struct ferry__stage *stage, struct ferry__program **out)
{
    struct ferry__program *p = calloc(1, sizeof *p);
    int err;

    if (!p)
        return no_memory();
    p->net = net;
    p->first_layer = stage->first;
    p->last_layer = stage->last;
    p->n_shapes = walk_shapes(net, stage, NULL, false);
    p->shapes = calloc((size_t)p->n_shapes + 1, sizeof *p->shapes);
    err = p->shapes ? 0 : no_memory();
    if (!err) {
        walk_shapes(net, stage, p->shapes, true);
        err = ferry__program_collect(p);
    }
    if (!err)
        err = ferry__program_fuse(p);
    if (!err)
        err = ferry__program_lay(p);
    if (!err)
        err = ferry__program_plan(p);
    if (!err)
        err = prepare(p);
    if (!err)
        err = ferry__program_differentiate(p);
    if (err)
        end(p);
    else
        *out = p;
    return err;
}

/* Which blobs of the stage have contents that a program may see. */
static void mark_gone(const struct ferry__program *p)
{
    ferry_net *net = p->net;
    int i, k;

    for (i = p->first_layer; i <= p->last_layer; i++)
        for (k = 0; k < net->layers[i].n_tops; k++)
            net->blobs[net->layers[i].tops[k]].gone = false;
    for (i = 0; i < p->n_values; i++)
        if (p->values[i].index >= 0)
            net->blobs[p->values[i].index].gone =
                !p->values[i].pinned || (net->only && !p->values[i].seen);
    for (i = p->first_layer; i <= p->last_layer; i++)
        for (k = 0; k < net->layers[i].n_tops; k++) {
            struct ferry__net_blob *b = &net->blobs[net->layers[i].tops[k]];

            if (b->alias >= 0)
                b->gone = net->blobs[b->alias].gone;
        }
}

/* The least recently used one makes room. */
static struct ferry__program **place_for(struct ferry__stage *stage)
{
    int i, oldest = 0;

    for (i = 0; i < FERRY__NET_KEPT; i++) {
        if (!stage->kept[i])
            return &stage->kept[i];
        if (stage->kept[i]->used < stage->kept[oldest]->used)
            oldest = i;
    }
    return &stage->kept[oldest];
}

int ferry__stage_choose(ferry_net *net, struct ferry__stage *stage)
{
    struct ferry__program *p = stage->now, **place;
    int err;

    if (p)
        return 0;
    p = find(net, stage);
    if (!p) {
        err = make(net, stage, &p);
        if (err)
            return err;
        place = place_for(stage);
        end(*place);
        *place = p;
    }
    p->used = ++net->clock;
    stage->now = p;
    mark_gone(p);
    return 0;
}
