/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/segment/convex.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for a segment");
}

/* ---- the order of items ---------------------------------------------------------------------- */

static bool conflicts(const struct ferry__program *p, const struct ferry__item *a,
                      const struct ferry__item *b, int value)
{
    return (ferry__item_writes(p, a, value) && ferry__item_uses(p, b, value)) ||
           (ferry__item_uses(p, a, value) && ferry__item_writes(p, b, value));
}

/*
 * Whether `later` must stay after `earlier`, since it depends on it. Calls of layers' own functions
 * keep their order.
 */
static bool depends(const struct ferry__program *p, const struct ferry__item *later,
                    const struct ferry__item *earlier)
{
    uint32_t k;
    int v;

    if (later->call && earlier->call)
        return true;
    if (earlier->call) {
        for (v = 0; v < p->n_values; v++)
            if (conflicts(p, earlier, later, v))
                return true;
        return false;
    }
    for (k = 0; k < earlier->op.n_in + earlier->op.n_out; k++) {
        v = k < earlier->op.n_in ? earlier->in[k].value : earlier->out[k - earlier->op.n_in].value;
        if (v >= 0 && conflicts(p, earlier, later, v))
            return true;
    }
    return false;
}

/*
 * Whether item `at` must stay after an item of the segment, or after another item that must stay
 * after the segment.
 */
static bool is_behind(const struct ferry__program *p, const struct ferry__cut *cut, int at,
                      bool after_alone)
{
    int i;

    for (i = 0; i < at; i++)
        if ((cut->after[i] || (cut->inside[i] && !after_alone)) &&
            depends(p, &p->items[at], &p->items[i]))
            return true;
    return false;
}

static const char *find_order(const struct ferry__program *p, struct ferry__cut *cut)
{
    int i, first = 0;

    while (!cut->inside[first])
        first++;
    for (i = first; i <= cut->last; i++) {
        if (p->items[i].dropped)
            continue;
        if (cut->inside[i] && is_behind(p, cut, i, true))
            return "it is not convex: a path leaves it and enters it again";
        if (!cut->inside[i])
            cut->after[i] = is_behind(p, cut, i, false);
    }
    return NULL;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static bool is_read_by(const struct ferry__graph_of *g, const uint32_t *segment, uint32_t number,
                       uint32_t edge)
{
    uint32_t i, k;

    for (i = 0; i < g->told.n_nodes; i++)
        for (k = 0; segment[i] == number && k < g->nodes[i].op.n_in; k++)
            if (g->nodes[i].told.in[k].edge == edge)
                return true;
    return false;
}

/* Whether nodes in the segment write the edge, and whether nodes outside of it do. */
static void find_writers(const struct ferry__graph_of *g, const uint32_t *segment, uint32_t number,
                         uint32_t edge, bool *out_inside, bool *out_outside)
{
    uint32_t i, k;

    *out_inside = *out_outside = false;
    for (i = 0; i < g->told.n_nodes; i++)
        for (k = 0; k < g->nodes[i].op.n_out; k++)
            if (g->nodes[i].told.out[k].edge == edge)
                *(segment[i] == number ? out_inside : out_outside) = true;
}

/*
 * Checks the edges: all parts of a value must be written inside or all outside, and a memory must
 * not be both read and written.
 */
static const char *check_edges(const struct ferry__graph_of *g, const uint32_t *segment,
                               uint32_t number)
{
    bool inside, outside;
    uint32_t i, k;

    for (i = 0; i < g->told.n_edges; i++) {
        find_writers(g, segment, number, i, &inside, &outside);
        if (inside && outside)
            return "it writes a part of a concatenation whose other parts are outside";
        for (k = 0; inside && k < g->told.n_edges; k++) {
            bool made, elsewhere;

            if (k == i || g->edges[k].value != g->edges[i].value)
                continue;
            find_writers(g, segment, number, k, &made, &elsewhere);
            if (!made && is_read_by(g, segment, number, k))
                return "it overwrites its own input in place";
        }
    }
    return NULL;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

int ferry__cut_make(const struct ferry__program *p, const struct ferry__graph_of *g,
                    const uint32_t *segment, uint32_t number, struct ferry__cut *out,
                    const char **out_why)
{
    uint32_t i;

    out->last = -1;
    out->inside = calloc((size_t)p->n_items + 1, sizeof *out->inside);
    out->after = calloc((size_t)p->n_items + 1, sizeof *out->after);
    if (!out->inside || !out->after) {
        ferry__cut_end(out);
        return no_memory();
    }
    for (i = 0; i < g->told.n_nodes; i++)
        if (segment[i] == number) {
            out->inside[g->nodes[i].item] = true;
            out->last = out->last > g->nodes[i].item ? out->last : g->nodes[i].item;
        }
    *out_why = check_edges(g, segment, number);
    if (!*out_why)
        *out_why = find_order(p, out);
    return 0;
}

void ferry__cut_end(struct ferry__cut *cut)
{
    free(cut->inside);
    free(cut->after);
}

/* Orders the items: those before the segment, then the segment at *out_at, then those after it. */
static void order_items(const struct ferry__program *p, const struct ferry__cut *cut,
                        struct ferry__item *to, int *new_number, int *out_at)
{
    int i, n = 0;

    for (i = 0; i <= cut->last; i++)
        if (!cut->after[i]) {
            to[n] = p->items[i];
            to[n].dropped = to[n].dropped || cut->inside[i];
            to[n].claimed = to[n].claimed || cut->inside[i];
            new_number[i] = n++;
        }
    *out_at = n++;
    for (i = 0; i < p->n_items; i++)
        if (i > cut->last || cut->after[i]) {
            to[n] = p->items[i];
            new_number[i] = n++;
        }
}

int ferry__cut_apply(struct ferry__program *p, struct ferry__graph_of *g,
                     const struct ferry__cut *cut, int *out_at)
{
    int room = p->n_items + 1;
    struct ferry__item *items = calloc((size_t)room, sizeof *items);
    int *new_number = calloc((size_t)room, sizeof *new_number);
    uint32_t i;

    if (!items || !new_number) {
        free(items);
        free(new_number);
        return no_memory();
    }
    order_items(p, cut, items, new_number, out_at);
    for (i = 0; i < g->told.n_nodes; i++)
        g->nodes[i].item = new_number[g->nodes[i].item];
    free(new_number);
    free(p->items);
    p->items = items;
    p->n_items = p->room_items = room;
    return 0;
}
