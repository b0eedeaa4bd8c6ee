/* SPDX-License-Identifier: BSD-2-Clause */
/* The items and values of a program: insertion, queries, freeing. */
#include "net/ir/program.h"

#include "op/operand.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
}

void ferry__program_end(struct ferry__program *p)
{
    int i;

    if (!p)
        return;
    ferry__repeats_end(&p->repeats);
    if (p->end_claims)
        p->end_claims(p);
    for (i = 0; i < p->n_items; i++) {
        ferry_operation_destroy(p->items[i].prepared);
        ferry_operation_destroy(p->items[i].fewer);
    }
    for (i = 0; i < p->n_back; i++)
        ferry_operation_destroy(p->back[i].prepared);
    free(p->items);
    free(p->insertions);
    free(p->back);
    free(p->first_item[0]);
    free(p->first_item[1]);
    free(p->kept);
    free(p->values);
    free(p->divisions);
    free(p->runs);
    free(p->uses);
    free(p->of_blob);
    free(p->written);
    free(p->shapes);
    free(p);
}

/*
 * ---- insertion
 * -------------------------------------------------------------------------------------
 */

struct ferry__item *ferry__program_append_item(struct ferry__program *p)
{
    if (p->n_items == p->room_items) {
        int room = p->room_items ? 2 * p->room_items : 64;
        struct ferry__item *grown = realloc(p->items, (size_t)room * sizeof *grown);

        if (!grown) {
            no_memory();
            return NULL;
        }
        p->items = grown;
        p->room_items = room;
    }
    memset(&p->items[p->n_items], 0, sizeof *p->items);
    return &p->items[p->n_items++];
}

struct ferry__item *ferry__program_insert(struct ferry__program *p, int at)
{
    if (p->n_insertions == p->room_insertions) {
        int room = p->room_insertions ? 2 * p->room_insertions : 8;
        struct ferry__insertion *grown = realloc(p->insertions, (size_t)room * sizeof *grown);

        if (!grown) {
            no_memory();
            return NULL;
        }
        p->insertions = grown;
        p->room_insertions = room;
    }
    memset(&p->insertions[p->n_insertions], 0, sizeof *p->insertions);
    p->insertions[p->n_insertions].at = at;
    return &p->insertions[p->n_insertions++].item;
}

int ferry__program_insert_all(struct ferry__program *p)
{
    int n = p->n_insertions, room = p->n_items + n, i, to = room;
    struct ferry__item *grown;

    if (!n)
        return 0;
    grown = room > p->room_items ? realloc(p->items, (size_t)room * sizeof *grown) : p->items;
    if (!grown)
        return no_memory();
    p->items = grown;
    p->room_items = room > p->room_items ? room : p->room_items;
    for (i = p->n_items; n > 0;) /* from the last item on */
        if (p->insertions[n - 1].at > i - 1)
            p->items[--to] = p->insertions[--n].item;
        else
            p->items[--to] = p->items[--i];
    p->n_items = room;
    p->n_insertions = 0;
    return 0;
}

struct ferry__value *ferry__program_append(struct ferry__program *p)
{
    if (p->n_values == p->room_values) {
        int room = p->room_values ? 2 * p->room_values : 64;
        struct ferry__value *grown = realloc(p->values, (size_t)room * sizeof *grown);

        if (!grown) {
            no_memory();
            return NULL;
        }
        p->values = grown;
        p->room_values = room;
    }
    memset(&p->values[p->n_values], 0, sizeof *p->values);
    return &p->values[p->n_values++];
}

int ferry__program_value_like(struct ferry__program *p, int value)
{
    struct ferry__value *v = ferry__program_append(p), *like;

    if (!v)
        return FERRY_ENOMEM;
    like = &p->values[value];
    *v = *like;
    v->blob = NULL;
    v->index = -1;
    v->within = -1;
    v->pinned = v->seen = v->own = v->plain = v->last = false;
    return p->n_values - 1;
}

/*
 * ---- users
 * ---------------------------------------------------------------------------------------
 */

static void note_user(struct ferry__program *p, int at, int value, bool writes)
{
    struct ferry__value *v = value < 0 ? NULL : &p->values[value];

    if (!v)
        return;
    if (v->end < v->first)
        v->first = at;
    v->end = at;
    if (writes)
        v->written = at;
}

/* A layer with its own function may write all of its blobs. */
static void note_call(struct ferry__program *p, int at)
{
    const ferry_layer *layer = p->items[at].layer;
    int i;

    for (i = 0; i < layer->n_bottoms; i++)
        note_user(p, at, p->of_blob[ferry__net_root(p->net, layer->bottoms[i])], true);
    for (i = 0; i < layer->n_tops; i++)
        note_user(p, at, p->of_blob[ferry__net_root(p->net, layer->tops[i])], true);
}

static void note_item(struct ferry__program *p, int at)
{
    const struct ferry__item *item = &p->items[at];
    uint32_t k;
    int i;

    for (i = 0; item->claim && i < item->n_reads + item->n_writes; i++)
        note_user(p, at, item->border_values[i], i >= item->n_reads);
    if (item->call && !item->claim)
        note_call(p, at);
    for (k = 0; !item->call && k < item->op.n_in; k++)
        note_user(p, at, item->in[k].value, false);
    for (k = 0; !item->call && k < item->op.n_out; k++)
        note_user(p, at, item->out[k].value, true);
}

void ferry__program_find_users(struct ferry__program *p)
{
    int i;

    for (i = 0; i < p->n_values; i++) {
        p->values[i].first = 0;
        p->values[i].end = p->values[i].written = -1;
    }
    for (i = 0; i < p->n_items; i++)
        if (!p->items[i].dropped)
            note_item(p, i);
}

/*
 * ---- queries
 * ---------------------------------------------------------------------------------------
 */

/*
 * Whether a call uses a value: a layer with its own forward function may access all of its blobs.
 */
static bool call_uses(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    const ferry_layer *layer = item->layer;
    int i, index = p->values[value].index;

    for (i = 0; index >= 0 && i < layer->n_bottoms; i++)
        if (ferry__net_root(p->net, layer->bottoms[i]) == index)
            return true;
    for (i = 0; index >= 0 && i < layer->n_tops; i++)
        if (ferry__net_root(p->net, layer->tops[i]) == index)
            return true;
    return false;
}

/* Whether a value is among the values that a segment reads or writes, from `first` on. */
static bool is_border(const struct ferry__item *item, int first, int value)
{
    int i;

    for (i = first; i < item->n_reads + item->n_writes; i++)
        if (item->border_values[i] == value)
            return true;
    return false;
}

bool ferry__item_writes(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    uint32_t i;

    if (item->dropped)
        return false;
    if (item->claim)
        return is_border(item, item->n_reads, value);
    if (item->call)
        return call_uses(p, item, value);
    for (i = 0; i < item->op.n_out; i++)
        if (item->out[i].value == value)
            return true;
    return false;
}

bool ferry__item_uses(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    uint32_t i;

    if (item->dropped)
        return false;
    if (item->claim)
        return is_border(item, 0, value);
    for (i = 0; !item->call && i < item->op.n_in; i++)
        if (item->in[i].value == value)
            return true;
    return ferry__item_writes(p, item, value);
}

int ferry__value_root(const struct ferry__program *p, int value)
{
    while (p->values[value].within >= 0)
        value = p->values[value].within;
    return value;
}

bool ferry__item_runs(const struct ferry__item *item)
{
    return !item->call && !item->dropped && !item->in_parts;
}

bool ferry__item_reads(const struct ferry__item *item, int value)
{
    uint32_t k;

    for (k = 0; k < item->op.n_in; k++)
        if (item->in[k].value == value)
            return true;
    return false;
}

bool ferry__covers(const struct ferry__program *p, const ferry_operand *o,
                   const struct ferry__use *use)
{
    return use->value >= 0 && use->start == 0 && ferry_operand_is_plain(o) &&
           ferry__operand_count(o) == p->values[use->value].count;
}

bool ferry__is_whole(const struct ferry__program *p, const ferry_operand *o,
                     const struct ferry__use *use)
{
    return !use->diff && ferry__covers(p, o, use);
}

int64_t ferry__value_start(const struct ferry__program *p, int value)
{
    int64_t start = 0;

    for (; value >= 0 && p->values[value].within >= 0; value = p->values[value].within)
        start += p->values[value].start;
    return start;
}
