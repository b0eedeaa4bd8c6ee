/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/segment/graph.h"

#include "op/kind.h"
#include "op/operand.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for a segment");
}

void ferry__graph_end(struct ferry__graph_of *g)
{
    free(g->nodes);
    free(g->edges);
    free(g->node_at);
    free(g->edge_at);
    memset(g, 0, sizeof *g);
}

static int make_room(struct ferry__graph_of *g, size_t nodes, size_t edges)
{
    g->nodes = calloc(nodes + 1, sizeof *g->nodes);
    g->edges = calloc(edges + 1, sizeof *g->edges);
    g->node_at = calloc(nodes + 1, sizeof *g->node_at);
    g->edge_at = calloc(edges + 1, sizeof *g->edge_at);
    if (g->nodes && g->edges && g->node_at && g->edge_at)
        return 0;
    ferry__graph_end(g);
    return no_memory();
}

/* Sets the pointers, once no more elements are added. */
static void finish(const struct ferry__program *p, struct ferry__graph_of *g)
{
    uint32_t i;

    for (i = 0; i < g->told.n_nodes; i++) {
        g->nodes[i].told.op = &g->nodes[i].op;
        g->node_at[i] = &g->nodes[i].told;
    }
    for (i = 0; i < g->told.n_edges; i++)
        g->edge_at[i] = &g->edges[i].told;
    g->told.struct_size = sizeof g->told;
    g->told.name = p->net->name;
    g->told.nodes = g->node_at;
    g->told.edges = g->edge_at;
}

/* ---- eligible operations --------------------------------------------------------------------- */

static bool is_written(const struct ferry__program *p, const ferry_blob *blob)
{
    uint32_t k;
    int i;

    for (i = 0; i < p->n_items; i++)
        for (k = 0; !p->items[i].call && k < p->items[i].op.n_out; k++)
            if (p->items[i].out[k].value < 0 && p->items[i].out[k].blob == blob)
                return true;
    return false;
}

static bool is_offered(const struct ferry__program *p, const struct ferry__item *item,
                       const ferry_device *dev)
{
    uint32_t k;

    if (item->call || item->dropped || item->layer->device != dev || item->layer->alone ||
        ferry__op_reads_outputs(&item->op) || item->op.kind == FERRY_OP_RANDOM ||
        item->op.kind == FERRY_OP_NAMED)
        return false;
    for (k = 0; k < item->op.n_in; k++)
        if (item->in[k].value < 0 && (item->in[k].diff || is_written(p, item->in[k].blob)))
            return false;
    for (k = 0; k < item->op.n_out; k++)
        if (item->out[k].value < 0)
            return false;
    return true;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* State of the walk over a program: the current edge of each value, −1 if it is outside. */
struct walking {
    const struct ferry__program *p;
    struct ferry__graph_of *g;
    int *edge_of;
    bool broken; /* a value is written in parts that do not cover it completely */
};

static ferry_operand operand_of_blob(const ferry_blob *b)
{
    int64_t shape[FERRY_OP_AXES] = { 0 };
    int i, rank = ferry_blob_rank(b);

    for (i = 0; i < rank && rank <= FERRY_OP_AXES; i++)
        shape[i] = ferry_blob_dim(b, i);
    if (rank > FERRY_OP_AXES) {
        shape[0] = ferry_blob_element_count(b);
        rank = 1;
    }
    return ferry_operand_make(ferry_blob_dtype(b), shape, rank, NULL);
}

static uint32_t add_edge(struct ferry__graph_of *g, const struct ferry__program *p, int value,
                         ferry_blob *blob, uint32_t flags)
{
    struct ferry__edge *e = &g->edges[g->told.n_edges];
    const struct ferry__value *v = value < 0 ? NULL : &p->values[value];

    e->value = value;
    e->blob = v ? v->blob : blob;
    e->told = (ferry_graph_edge){ .struct_size = sizeof e->told,
                                  .flags = flags,
                                  .first = FERRY_GRAPH_NONE,
                                  .last = FERRY_GRAPH_NONE };
    e->told.operand = v ? ferry_operand_make((ferry_dtype)v->dtype, v->shape, v->rank, NULL)
                        : operand_of_blob(blob);
    return g->told.n_edges++;
}

static uint32_t constant_of(const struct walking *w, ferry_blob *blob)
{
    uint32_t i;

    for (i = 0; i < w->g->told.n_edges; i++)
        if (w->g->edges[i].value < 0 && w->g->edges[i].blob == blob)
            return i;
    return add_edge(w->g, w->p, -1, blob, FERRY_GRAPH_CONSTANT);
}

static void read_operand(struct walking *w, const struct ferry__use *from, uint32_t node,
                         ferry_graph_use *out)
{
    struct ferry__edge *e;
    uint32_t edge;

    if (from->value < 0)
        edge = constant_of(w, from->blob);
    else if (w->edge_of[from->value] >= 0)
        edge = (uint32_t)w->edge_of[from->value];
    else
        edge = add_edge(w->g, w->p, from->value, NULL, FERRY_GRAPH_INPUT);
    e = &w->g->edges[edge];
    if (from->value >= 0)
        w->edge_of[from->value] = (int)edge;
    if (e->told.first != FERRY_GRAPH_NONE && e->written < w->p->values[from->value].count)
        w->broken = true;
    e->read = true;
    e->told.last = node;
    *out = (ferry_graph_use){ .edge = edge, .start = (uint64_t)from->start };
}

/* Writes a whole edge, or the next part of an edge that no node has read yet. */
static void write_operand(struct walking *w, const ferry_operand *o, const struct ferry__use *to,
                          uint32_t node, ferry_graph_use *out)
{
    int former = w->edge_of[to->value];
    int64_t count = w->p->values[to->value].count, part = ferry__operand_count(o);
    struct ferry__edge *e;

    if (part == count || former < 0 || w->g->edges[former].read ||
        w->g->edges[former].written == count)
        w->edge_of[to->value] = (int)add_edge(w->g, w->p, to->value, NULL, 0);
    e = &w->g->edges[w->edge_of[to->value]];
    if (e->told.first == FERRY_GRAPH_NONE)
        e->told.first = node;
    e->told.last = node;
    e->written += part;
    *out =
        (ferry_graph_use){ .edge = (uint32_t)w->edge_of[to->value], .start = (uint64_t)to->start };
}

static void add_node(struct walking *w, int at)
{
    const struct ferry__item *item = &w->p->items[at];
    uint32_t k, number = w->g->told.n_nodes++;
    struct ferry__node *node = &w->g->nodes[number];

    node->op = item->op;
    node->item = at;
    node->layer = item->layer;
    node->told.struct_size = sizeof node->told;
    node->told.name = item->layer->name;
    for (k = 0; k < item->op.n_in; k++)
        read_operand(w, &item->in[k], number, &node->told.in[k]);
    for (k = 0; k < item->op.n_out; k++)
        write_operand(w, &item->op.out[k], &item->out[k], number, &node->told.out[k]);
}

/*
 * Handles an item that stays outside: the edges that it reads become outputs, and the values that
 * it writes are outside.
 */
static void pass_by(struct walking *w, const struct ferry__item *item)
{
    int v;

    for (v = 0; v < w->p->n_values; v++) {
        int edge = w->edge_of[v];

        if (edge >= 0 && ferry__item_uses(w->p, item, v))
            w->g->edges[edge].told.flags |= FERRY_GRAPH_OUTPUT;
        if (ferry__item_writes(w->p, item, v))
            w->edge_of[v] = -1;
    }
}

/* Makes the current edges of values that are visible after the program outputs. */
static void keep_pinned(struct walking *w)
{
    uint32_t i;
    int v;

    for (v = 0; v < w->p->n_values; v++)
        if (w->p->values[v].pinned && w->edge_of[v] >= 0)
            w->g->edges[w->edge_of[v]].told.flags |= FERRY_GRAPH_OUTPUT;
    for (i = 0; i < w->g->told.n_edges; i++) {
        struct ferry__edge *e = &w->g->edges[i];

        if (e->told.first == FERRY_GRAPH_NONE)
            e->told.flags &= ~FERRY_GRAPH_OUTPUT;
        else if (e->written != w->p->values[e->value].count)
            w->broken = true;
    }
}

int ferry__graph_of_program(const struct ferry__program *p, const ferry_device *dev,
                            struct ferry__graph_of *out)
{
    struct walking w = { .p = p, .g = out };
    size_t edges = (size_t)p->n_items * (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS);
    int i, err;

    memset(out, 0, sizeof *out);
    err = make_room(out, (size_t)p->n_items, edges);
    if (err)
        return err;
    w.edge_of = malloc(((size_t)p->n_values + 1) * sizeof *w.edge_of);
    if (!w.edge_of) {
        ferry__graph_end(out);
        return no_memory();
    }
    for (i = 0; i < p->n_values; i++)
        w.edge_of[i] = -1;
    for (i = 0; i < p->n_items; i++)
        if (is_offered(p, &p->items[i], dev))
            add_node(&w, i);
        else if (!p->items[i].dropped)
            pass_by(&w, &p->items[i]);
    keep_pinned(&w);
    free(w.edge_of);
    if (w.broken)
        out->told.n_nodes = 0;
    finish(p, out);
    return 0;
}

/* ---- a segment ------------------------------------------------------------------------------- */

/* How the nodes of a segment use an edge of the whole graph. */
struct role {
    bool inside, outside; /* nodes of the segment use it; other nodes use it */
    bool made;            /* nodes of the segment write it */
};

static void note(struct role *r, bool inside, bool writes)
{
    r->inside = r->inside || inside;
    r->outside = r->outside || !inside;
    r->made = r->made || (inside && writes);
}

static void find_roles(const struct ferry__graph_of *g, const uint32_t *segment, uint32_t number,
                       struct role *roles)
{
    uint32_t i, k;

    for (i = 0; i < g->told.n_nodes; i++) {
        const struct ferry__node *n = &g->nodes[i];

        for (k = 0; k < n->op.n_in; k++)
            note(&roles[n->told.in[k].edge], segment[i] == number, false);
        for (k = 0; k < n->op.n_out; k++)
            note(&roles[n->told.out[k].edge], segment[i] == number, true);
    }
}

/* Copies the edges that the segment uses; `map` has their new numbers. */
static void copy_edges(const struct ferry__graph_of *from, const struct role *roles,
                       struct ferry__graph_of *out, uint32_t *map)
{
    uint32_t i;

    for (i = 0; i < from->told.n_edges; i++) {
        struct ferry__edge *e = &out->edges[out->told.n_edges];

        if (!roles[i].inside)
            continue;
        *e = from->edges[i];
        e->told.first = e->told.last = FERRY_GRAPH_NONE;
        if (!roles[i].made && !(e->told.flags & FERRY_GRAPH_CONSTANT))
            e->told.flags = FERRY_GRAPH_INPUT;
        else if (roles[i].made && roles[i].outside)
            e->told.flags |= FERRY_GRAPH_OUTPUT;
        map[i] = out->told.n_edges++;
    }
}

static void copy_node(const struct ferry__node *from, const uint32_t *map,
                      struct ferry__graph_of *out)
{
    uint32_t k, number = out->told.n_nodes++;
    struct ferry__node *n = &out->nodes[number];
    ferry_graph_edge *e;

    *n = *from;
    for (k = 0; k < n->op.n_in; k++) {
        n->told.in[k].edge = map[n->told.in[k].edge];
        out->edges[n->told.in[k].edge].told.last = number;
    }
    for (k = 0; k < n->op.n_out; k++) {
        n->told.out[k].edge = map[n->told.out[k].edge];
        e = &out->edges[n->told.out[k].edge].told;
        e->last = number;
        e->first = e->first == FERRY_GRAPH_NONE ? number : e->first;
    }
}

int ferry__graph_of_segment(const struct ferry__program *p, const struct ferry__graph_of *from,
                            const uint32_t *segment, uint32_t number, struct ferry__graph_of *out)
{
    struct role *roles = calloc(from->told.n_edges + 1, sizeof *roles);
    uint32_t *map = calloc(from->told.n_edges + 1, sizeof *map), i;
    int err;

    memset(out, 0, sizeof *out);
    err = roles && map ? make_room(out, from->told.n_nodes, from->told.n_edges) : no_memory();
    if (!err) {
        find_roles(from, segment, number, roles);
        copy_edges(from, roles, out, map);
        for (i = 0; i < from->told.n_nodes; i++)
            if (segment[i] == number)
                copy_node(&from->nodes[i], map, out);
        finish(p, out);
    }
    free(roles);
    free(map);
    return err;
}
