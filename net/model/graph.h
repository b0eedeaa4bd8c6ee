/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects the layers of a net's text for a phase, and inserts splits between blobs and their
 * consumers.
 */
#ifndef FERRY_NET_MODEL_GRAPH_H
#define FERRY_NET_MODEL_GRAPH_H

#include "common/arena.h"

#include <ferry/layer.h>
#include <ferry/net.h>
#include <stdbool.h>

/* The state that NetStateRules are compared with. */
struct ferry__net_conditions {
    ferry_phase phase; /* TRAIN or TEST */
    int level;
    bool has_level; /* the program or the text sets a level; Caffe's log lines then name it */
    const char *const *stages;
    size_t stage_count;
};

/* A planned layer. Its members belong to the arena, its messages to their tree. */
struct ferry__node {
    const char *name, *type;
    const ferry_layer_type *layer_type; /* NULL: that with the name `type` */
    const ferry_proto *message; /* for a layer that the text lacks, an empty LayerParameter */
    const char **bottoms, **tops;
    int n_bottoms, n_tops;
    double *loss_weights; /* n_tops of them if `weighted`; 0 for a top without a loss weight */
    bool weighted;
};

struct ferry__graph {
    struct ferry__node *nodes;
    int count, room;
};

/*
 * The layers of the net's text that are in this state, with splits inserted and named as in Caffe,
 * and with layers of type `fake`, FakeQuantize (fake.h), if it is not NULL. FERRY_EFORMAT with the
 * position for a contradictory rule or for a bottom that no earlier layer produces; FERRY_ENOMEM.
 */
int ferry__graph_make(ferry_net *net, const struct ferry__net_conditions *conditions,
                      const ferry_layer_type *fake, struct ferry__graph *out);

/*
 * conditions.c: the state that results from the phase, the options, the text's own state and
 * `over`, which may be NULL and takes precedence over it; the stages belong to the arena.
 */
int ferry__conditions_make(ferry_net *net, const ferry_net_options *o, const ferry_proto *over,
                           struct ferry__net_conditions *out);

/* conditions.c: logs the text of this state as Caffe does before it builds a net. */
void ferry__conditions_log(const ferry_net *net, const struct ferry__net_conditions *conditions,
                           const struct ferry__graph *graph);

/* rules.c: whether a layer is in the net in this state. 1, 0, or FERRY_EFORMAT. */
int ferry__rules_admit(const ferry_proto *layer, const struct ferry__net_conditions *conditions);

#endif
