/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the text of a net to the layers that are to be: those of this phase, and splits between blobs
 * and their consumers.
 */
#ifndef FERRY_NET_MODEL_GRAPH_H
#define FERRY_NET_MODEL_GRAPH_H

#include "common/arena.h"

#include <ferry/net.h>
#include <stdbool.h>

/* What NetStateRules are held against. */
struct ferry__net_conditions {
    ferry_phase phase; /* TRAIN or TEST */
    int level;
    bool has_level; /* somebody has given one: for Caffe's lines */
    const char *const *stages;
    size_t stage_count;
};

/* A layer to be. Everything belongs to the arena, messages to their tree. */
struct ferry__node {
    const char *name, *type;
    const ferry_proto *message; /* an empty LayerParameter for a split */
    const char **bottoms, **tops;
    int n_bottoms, n_tops;
    double *loss_weights; /* n_tops of them where `weighted`, 0 where none was given */
    bool weighted;
};

struct ferry__graph {
    struct ferry__node *nodes;
    int count, room;
};

/*
 * The layers of a NetParameter of today's form that are in this state, with splits as Caffe inserts
 * and names them. FERRY_EFORMAT with the place for a rule that contradicts itself or a bottom that no
 * earlier layer makes; FERRY_ENOMEM.
 */
int ferry__graph_make(const ferry_proto *net, const struct ferry__net_conditions *conditions,
                      struct ferry__mem_arena *arena, struct ferry__graph *out);

/*
 * conditions.c: what the phase, the options, the text's own state and `over`, which may be NULL and goes
 * over it, add up to; the stages are the arena's.
 */
int ferry__conditions_make(ferry_net *net, const ferry_net_options *o, const ferry_proto *over,
                           struct ferry__net_conditions *out);

/* conditions.c: the text that is left in this state, as Caffe says it before it builds a net. */
void ferry__conditions_tell(const ferry_net *net, const struct ferry__net_conditions *conditions,
                            const struct ferry__graph *graph);

/* rules.c: whether a layer is in the net in this state. 1, 0, or FERRY_EFORMAT. */
int ferry__rules_admit(const ferry_proto *layer, const struct ferry__net_conditions *conditions);

#endif
