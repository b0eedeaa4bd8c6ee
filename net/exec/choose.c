/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of the stages: selected by shapes, made, and dropped. */
#include "net/exec/exec.h"
#include "net/model/fake.h"
#include "net/model/narrow.h"

#include <stdlib.h>
#include <string.h>

void ferry__stages_forget(ferry_net *net)
{
    int i, k;

    for (i = 0; i < net->stage_count; i++) {
        net->stages[i].now = NULL;
        for (k = 0; k < FERRY__NET_KEPT; k++) {
            ferry__program_end(net->stages[i].kept[k]);
            net->stages[i].kept[k] = NULL;
        }
    }
    ferry__folds_end(net);
    ferry__integers_end(net);
    ferry__arenas_end(net);
}

void ferry__net_yield(ferry_net *net, bool programs)
{
    int i;

    net->starved = true;
    if (programs)
        ferry__stages_forget(net);
    for (i = 0; i < net->n_blobs; i++) {
        if (net->blobs[i].blob)
            (void)ferry_memory_allow_eviction(ferry_blob_data_memory(net->blobs[i].blob));
        if (net->blobs[i].blob && net->backward)
            (void)ferry_memory_allow_eviction(ferry_blob_diff_memory(net->blobs[i].blob));
    }
}

void ferry__stages_update(ferry_net *net)
{
    if (ferry__narrow_drop(net) || (net->outdated && (net->quantize || net->fake)))
        ferry__stages_forget(net);
    if (net->outdated)
        ferry__fake_update(net);
    net->outdated = false;
}

void ferry__stages_end(ferry_net *net)
{
    ferry__stages_forget(net);
    free(net->stages);
    net->stages = NULL;
    net->stage_count = 0;
}

/*
 * Ends a stage before `layer` and begins a new one there. The array has room for one stage per
 * layer.
 */
void ferry__stage_cut(ferry_net *net, int layer)
{
    struct ferry__stage *stage = ferry__stage_of(net, layer);
    int k;

    if (stage->first == layer)
        return;
    for (k = 0; k < FERRY__NET_KEPT; k++)
        ferry__program_end(stage->kept[k]);
    memmove(stage + 1, stage, (size_t)(&net->stages[net->stage_count] - stage) * sizeof *stage);
    net->stage_count++;
    stage[0] = (struct ferry__stage){ .first = stage[1].first, .last = layer - 1 };
    stage[1] = (struct ferry__stage){ .first = layer, .last = stage[1].last };
}

int ferry__stage_remake(ferry_net *net, struct ferry__stage *stage)
{
    int i;

    for (i = 0; i < FERRY__NET_KEPT; i++)
        if (stage->kept[i] == stage->now)
            stage->kept[i] = NULL;
    ferry__program_end(stage->now);
    stage->now = NULL;
    return ferry__stage_choose(net, stage);
}

/* Whether a program shows in-place results if the net runs in parts. */
static bool is_usable(const struct ferry__program *p)
{
    return !p->whole || !p->net->in_parts;
}

static struct ferry__program *find(const struct ferry__stage *stage)
{
    int i;

    for (i = 0; i < FERRY__NET_KEPT; i++)
        if (stage->kept[i] && is_usable(stage->kept[i]) && ferry__program_fits(stage->kept[i]))
            return stage->kept[i];
    return NULL;
}

/* Marks the blobs of the stage whose contents the user of the net cannot see. */
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

/* Replaces the least recently used program. */
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

    if (p && is_usable(p))
        return 0;
    p = find(stage);
    if (!p) {
        err = ferry__program_make(net, stage->first, stage->last, &p);
        if (err)
            return err;
        place = place_for(stage);
        ferry__program_end(*place);
        *place = p;
    }
    p->used = ++net->clock;
    stage->now = p;
    net->forwarded = false;
    mark_gone(p);
    return 0;
}
