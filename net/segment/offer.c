/* SPDX-License-Identifier: BSD-2-Clause */
/* The pass that offers a program to a plugin, and the handling of the plugin's claims. */
#include "net/segment/segment.h"

#include "net/segment/compiled.h"
#include "net/segment/convex.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static void end_claims(struct ferry__program *p)
{
    while (p->claims) {
        struct ferry__claim *next = p->claims->next;

        ferry__claim_end(p->claims);
        p->claims = next;
    }
}

/* ---- offers ---------------------------------------------------------------------------------- */

struct asking {
    const struct ferry__grapher *by;
    const ferry_graph *graph;
    uint32_t *segment;
};

static int call_partition(void *ctx, void *arg)
{
    const struct asking *a = arg;

    return a->by->table->partition(ctx, a->graph, a->segment);
}

/* Asks the plugin for the segment of each node, 0 if it has none; the caller frees the array. */
static int ask(const ferry_net *net, const struct ferry__grapher *by, const ferry_graph *graph,
               uint32_t **out)
{
    struct asking a = { by, graph, calloc(graph->n_nodes + 1, sizeof *a.segment) };
    int err;

    if (!a.segment)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for a segment");
    err = ferry_device_call(by->device, "partition", call_partition, &a);
    if (err == FERRY_ENOMEM || err == FERRY_ELOST) {
        free(a.segment);
        return err;
    }
    if (err) {
        ferry_log_write(FERRY_LOG_WARN, "net \"%s\": %s; its operations run one by one", net->name,
                        ferry_last_error());
        memset(a.segment, 0, graph->n_nodes * sizeof *a.segment);
    }
    *out = a.segment;
    return 0;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Inserts the claim's item, and gives the values that it reads and writes blobs of their own. */
static void install(struct ferry__program *p, struct ferry__claim *c, int at)
{
    struct ferry__item *item = &p->items[at];
    int i;

    item->layer = c->graph.nodes[c->graph.told.n_nodes - 1].layer;
    item->call = true;
    item->claim = c;
    item->border_values = c->values;
    item->n_reads = c->n_reads;
    item->n_writes = c->n_writes;
    for (i = 0; i < c->n_reads + c->n_writes; i++) {
        struct ferry__value *v = &p->values[c->values[i]];

        v->pinned = v->own = v->plain = true;
    }
    c->next = p->claims;
    c->number = p->claims ? p->claims->number + 1 : 1;
    p->claims = c;
    p->end_claims = end_claims;
}

/* Takes one segment if its nodes can run together. */
static int take(struct ferry__program *p, const struct ferry__grapher *by,
                struct ferry__graph_of *graph, const uint32_t *segment, uint32_t number)
{
    struct ferry__claim *claim = NULL;
    struct ferry__cut cut;
    const char *why;
    int at, err = ferry__cut_make(p, graph, segment, number, &cut, &why);

    if (err)
        return err;
    if (why) {
        ferry_log_write(FERRY_LOG_WARN, "net \"%s\": %s: the claim of segment %u is refused: %s",
                        p->net->name, ferry_device_name(by->device), number, why);
        ferry__cut_end(&cut);
        return 0;
    }
    err = ferry__cut_apply(p, graph, &cut, &at);
    ferry__cut_end(&cut);
    if (!err)
        err = ferry__claim_make(p, by, graph, segment, number, &claim);
    if (!err)
        install(p, claim, at);
    return err;
}

/* Takes all segments, in the order of their first nodes. */
static int take_all(struct ferry__program *p, const struct ferry__grapher *by,
                    struct ferry__graph_of *graph, const uint32_t *segment)
{
    uint32_t i, k;
    int err = 0;

    for (i = 0; !err && i < graph->told.n_nodes; i++) {
        for (k = 0; k < i && segment[k] != segment[i]; k++)
            ;
        if (segment[i] && k == i)
            err = take(p, by, graph, segment, segment[i]);
    }
    return err;
}

/* Offers the operations of the layers on one device. */
static int offer_to(struct ferry__program *p, ferry_device *dev)
{
    struct ferry__graph_of graph;
    struct ferry__grapher by;
    uint32_t *segment = NULL;
    int err = ferry__grapher_of(dev, &by);

    if (err)
        return err == FERRY_EUNSUPPORTED ? 0 : err;
    err = ferry__graph_of_program(p, dev, &graph);
    if (!err && graph.told.n_nodes)
        err = ask(p->net, &by, &graph.told, &segment);
    if (!err && segment)
        err = take_all(p, &by, &graph, segment);
    free(segment);
    ferry__graph_end(&graph);
    return err;
}

int ferry__pass_segment(struct ferry__program *p)
{
    const ferry_net *net = p->net;
    int i, k, err = 0;

    for (i = p->first_layer; !err && net->fuse && i <= p->last_layer; i++) {
        for (k = p->first_layer; net->layers[k].device != net->layers[i].device; k++)
            ;
        if (k == i)
            err = offer_to(p, net->layers[i].device);
    }
    return err;
}

/* ---- in a forward pass ----------------------------------------------------------------------- */

static void mark_alone(const struct ferry__claim *c)
{
    uint32_t i;

    for (i = 0; i < c->graph.told.n_nodes; i++)
        c->graph.nodes[i].layer->alone = true;
}

int ferry__segments_prepare(struct ferry__program *p, bool *out_refused)
{
    struct ferry__claim *c;
    int err = 0;

    *out_refused = false;
    for (c = p->claims; !err && c; c = c->next) {
        bool refused;

        err = ferry__claim_prepare(c, p->net, &refused);
        if (!err && refused)
            mark_alone(c);
        *out_refused = *out_refused || refused;
    }
    return err;
}

int ferry__segment_item_run(const struct ferry__item *item)
{
    return ferry__claim_run(item->claim, ferry_layer_queue(item->layer));
}

int ferry__segment_of_layer(const struct ferry__program *p, int layer)
{
    const struct ferry__claim *c;
    uint32_t i;

    for (c = p->claims; c; c = c->next)
        for (i = 0; i < c->graph.told.n_nodes; i++)
            if (c->graph.nodes[i].layer->index == layer)
                return c->number;
    return 0;
}
