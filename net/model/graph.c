/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/graph.h"

#include "net/model/fake.h"
#include "net/model/names.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its graph");
}

/* Appends a node, whose arrays have room for that many names. NULL: out of memory. */
static struct ferry__node *append(struct ferry__graph *g, struct ferry__mem_arena *arena,
                                  int n_bottoms, int n_tops)
{
    struct ferry__node *node;

    if (g->count == g->room) {
        int room = g->room ? 2 * g->room : 32;
        struct ferry__node *grown = ferry__mem_alloc(arena, (size_t)room * sizeof *grown);

        if (!grown)
            return NULL;
        if (g->count)
            memcpy(grown, g->nodes, (size_t)g->count * sizeof *grown);
        g->nodes = grown;
        g->room = room;
    }
    node = &g->nodes[g->count];
    memset(node, 0, sizeof *node);
    node->bottoms = ferry__mem_alloc(arena, (size_t)(n_bottoms + 1) * sizeof *node->bottoms);
    node->tops = ferry__mem_alloc(arena, (size_t)(n_tops + 1) * sizeof *node->tops);
    node->loss_weights = ferry__mem_alloc(arena, (size_t)(n_tops + 1) * sizeof(double));
    if (!node->bottoms || !node->tops || !node->loss_weights)
        return NULL;
    node->n_bottoms = n_bottoms;
    node->n_tops = n_tops;
    g->count++;
    return node;
}

/* ---- layers of this state -------------------------------------------------------------------- */

static int add_layer(struct ferry__graph *g, struct ferry__mem_arena *arena,
                     const ferry_proto *layer)
{
    int bottoms = (int)ferry_proto_value_count(layer, "bottom");
    int tops = (int)ferry_proto_value_count(layer, "top"), i;
    int weights = (int)ferry_proto_value_count(layer, "loss_weight");
    struct ferry__node *node = append(g, arena, bottoms, tops);

    if (!node)
        return no_memory();
    node->name = ferry_proto_string(layer, "name", 0, NULL);
    node->type = ferry_proto_string(layer, "type", 0, NULL);
    node->message = layer;
    for (i = 0; i < bottoms; i++)
        node->bottoms[i] = ferry_proto_string(layer, "bottom", i, NULL);
    for (i = 0; i < tops; i++)
        node->tops[i] = ferry_proto_string(layer, "top", i, NULL);
    node->weighted = weights > 0;
    for (i = 0; i < tops && i < weights; i++)
        node->loss_weights[i] = ferry_proto_real(layer, "loss_weight", i);
    return 0;
}

static int collect(const ferry_proto *net, const struct ferry__net_conditions *conditions,
                   struct ferry__mem_arena *arena, struct ferry__graph *g)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);
        int admitted = ferry__rules_admit(layer, conditions);
        int err = admitted < 0 ? admitted : admitted ? add_layer(g, arena, layer) : 0;

        if (err)
            return err;
    }
    return 0;
}

/* ---- splits ---------------------------------------------------------------------------------- */

/*
 * One version of a blob: the value that one top of one layer gives to a name. A name with in-place
 * layers has several versions.
 */
struct version {
    const char *blob;
    int layer, top; /* the producer */
    int uses;       /* the number of bottoms that consume it, plus one if it has a loss weight */
    int given;      /* the number of uses that already have a top of the split */
    double loss_weight;
};

struct versions {
    struct version *at;
    int count, room;
    struct ferry__names latest; /* the latest version of each name */
    int *first;                 /* for each node: the version of its first top; those of the other
                                 * tops follow */
    int *used;                  /* for each bottom of each node, in order: the version that it
                                 * reads */
};

static int add_version(struct versions *v, struct ferry__node *node, int layer, int top)
{
    struct version *new;

    if (v->count == v->room) {
        int room = v->room ? 2 * v->room : 64;
        struct version *grown = realloc(v->at, (size_t)room * sizeof *grown);

        if (!grown)
            return no_memory();
        v->at = grown;
        v->room = room;
    }
    new = &v->at[v->count++];
    *new = (struct version){ .blob = node->tops[top], .layer = layer, .top = top };
    if (node->weighted)
        new->loss_weight = node->loss_weights[top];
    new->uses = new->loss_weight != 0;
    return ferry__names_set(&v->latest, new->blob, v->count - 1, false);
}

static const char *name_of_split(struct ferry__mem_arena *arena, const struct ferry__graph *g,
                                 const struct version *v, int top)
{
    const char *layer = g->nodes[v->layer].name;
    size_t size = strlen(v->blob) + strlen(layer) + 48;
    char *name = ferry__mem_alloc(arena, size);

    if (name && top < 0)
        snprintf(name, size, "%s_%s_%d_split", v->blob, layer, v->top);
    else if (name)
        snprintf(name, size, "%s_%s_%d_split_%d", v->blob, layer, v->top, top);
    return name;
}

/*
 * Reports that no earlier layer produces bottom k of node `at`: a later layer may produce it, or
 * the node itself.
 */
static int no_producer(const struct ferry__graph *g, int at, int k)
{
    const struct ferry__node *node = &g->nodes[at];
    const char *name = node->bottoms[k];
    int i, t;

    for (i = at; i < g->count; i++)
        for (t = 0; t < g->nodes[i].n_tops; t++)
            if (!strcmp(g->nodes[i].tops[t], name))
                return ferry_proto_error(
                    node->message, "bottom", k, FERRY_EFORMAT,
                    "layer \"%s\": its bottom \"%s\" is produced by %s \"%s\", %s", node->name,
                    name, i > at ? "layer" : "itself,", g->nodes[i].name,
                    i > at ? "which comes later: a cycle, or the wrong order"
                           : "and by no earlier layer");
    return ferry_proto_error(node->message, "bottom", k, FERRY_EFORMAT,
                             "layer \"%s\": its bottom \"%s\" is not produced by an earlier layer",
                             node->name, name);
}

/* Counts the uses of versions: each bottom uses the version that its name has at that point. */
static int count_uses(const struct ferry__graph *g, struct versions *v)
{
    int i, k, n = 0, err = 0;

    for (i = 0; !err && i < g->count; i++) {
        struct ferry__node *node = &g->nodes[i];

        for (k = 0; k < node->n_bottoms; k++) {
            int used = ferry__names_get(&v->latest, node->bottoms[k]);

            if (used < 0)
                return no_producer(g, i, k);
            v->at[used].uses++;
            v->used[n++] = used;
        }
        v->first[i] = v->count;
        for (k = 0; !err && k < node->n_tops; k++)
            err = add_version(v, node, i, k);
    }
    return err;
}

/*
 * Adds the split of one version: it has a bottom, and a top for each use; the first top gets the
 * loss weight.
 */
static int add_split(struct ferry__graph *out, struct ferry__mem_arena *arena,
                     const struct ferry__graph *g, struct version *v, const ferry_proto *empty)
{
    struct ferry__node *split = append(out, arena, 1, v->uses);
    int i;

    if (!split)
        return no_memory();
    split->name = name_of_split(arena, g, v, -1);
    split->type = "Split";
    split->message = empty;
    split->bottoms[0] = v->blob;
    for (i = 0; i < v->uses; i++) {
        split->tops[i] = name_of_split(arena, g, v, i);
        if (!split->tops[i])
            return no_memory();
    }
    if (v->loss_weight != 0) {
        split->weighted = true;
        split->loss_weights[0] = v->loss_weight;
        v->given = 1;
    }
    return split->name ? 0 : no_memory();
}

/* Copies node i, whose first bottom has index `bottom` among all bottoms. */
static int copy_node(const struct ferry__graph *g, int i, int bottom, struct versions *v,
                     struct ferry__mem_arena *arena, struct ferry__graph *out)
{
    const struct ferry__node *from = &g->nodes[i];
    struct ferry__node *node = append(out, arena, from->n_bottoms, from->n_tops);
    int k;

    if (!node)
        return no_memory();
    node->name = from->name;
    node->type = from->type;
    node->layer_type = from->layer_type;
    node->message = from->message;
    node->weighted = from->weighted;
    for (k = 0; k < from->n_bottoms; k++) {
        struct version *used = &v->at[v->used[bottom + k]];

        node->bottoms[k] = from->bottoms[k];
        if (used->uses > 1)
            node->bottoms[k] = name_of_split(arena, g, used, used->given++);
        if (!node->bottoms[k])
            return no_memory();
    }
    for (k = 0; k < from->n_tops; k++) {
        node->tops[k] = from->tops[k];
        node->loss_weights[k] = from->loss_weights[k];
    }
    return 0;
}

static int insert_splits(const struct ferry__graph *g, struct versions *v, const ferry_proto *empty,
                         struct ferry__mem_arena *arena, struct ferry__graph *out)
{
    int i, k, bottom = 0, err = 0;

    for (i = 0; !err && i < g->count; bottom += g->nodes[i++].n_bottoms) {
        int own = out->count;

        err = copy_node(g, i, bottom, v, arena, out);
        for (k = 0; !err && k < g->nodes[i].n_tops; k++) {
            struct version *made = &v->at[v->first[i] + k];

            if (made->uses < 2)
                continue;
            err = add_split(out, arena, g, made, empty);
            out->nodes[own].loss_weights[k] = 0; /* the split gets the loss weight */
        }
    }
    return err;
}

static int make_versions(const struct ferry__graph *g, struct versions *v)
{
    size_t bottoms = 1;
    int i;

    for (i = 0; i < g->count; i++)
        bottoms += (size_t)g->nodes[i].n_bottoms;
    v->first = calloc((size_t)g->count + 1, sizeof *v->first);
    v->used = calloc(bottoms, sizeof *v->used);
    return v->first && v->used ? count_uses(g, v) : no_memory();
}

int ferry__graph_make(ferry_net *net, const struct ferry__net_conditions *conditions,
                      const ferry_layer_type *fake, struct ferry__graph *out)
{
    /* for a message that current nets do not use: a message type without fields */
    const ferry_proto *empty =
        ferry_proto_message(net->proto, "layer", ferry_proto_value_count(net->proto, "layer"));
    struct ferry__graph all = { 0 };
    struct versions v = { 0 };
    int err = collect(net->proto, conditions, &net->arena, &all);

    if (!err && fake)
        err = ferry__fake_begin(net, fake, empty, &all);
    if (!err)
        err = make_versions(&all, &v);
    if (!err)
        err = insert_splits(&all, &v, empty, &net->arena, out);
    ferry__names_end(&v.latest);
    free(v.first);
    free(v.used);
    free(v.at);
    return err;
}
