/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans the memory of a whole training pass (ferry_net_options.plan_training). Data, diffs and
 * scratch blobs whose lifetimes do not overlap share bytes of the arenas. A lifetime is counted
 * over the items of forward and then those of backward. Values stay in their blobs' memory if
 *
 * - the caller may see them (inputs, outputs, blobs in `keep`) or the loss is read from them,
 * - a layer with a function of its own may access them,
 * - the pass reads them before operations of the pass have written all of their elements, since
 *   they then have contents from before the pass.
 */
#include "net/passes/passes.h"

#include "op/kind.h"
#include "op/operand.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>

/* The contents of a memory during the pass; element i describes value i of the program. */
struct content {
    const ferry_memory *memory;
    int64_t written; /* the elements written before the first item that reads the memory */
    bool fixed;      /* stays in its blob's memory */
};

struct sharing {
    struct ferry__program *p;
    struct content *at;
    int before;    /* the number of values of the forward pass */
    int *of;       /* a hash table: 1 + the last value with each memory; 0: a free place */
    size_t places; /* of it: a power of two, more than there are values */
};

static ferry_memory *memory_of(const ferry_blob *blob, bool diff)
{
    return diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
}

/* The place of a memory in the table, or the free place for it. */
static int *place_of(const struct sharing *s, const ferry_memory *memory)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)memory * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

    for (at &= s->places - 1; s->of[at] && s->at[s->of[at] - 1].memory != memory;)
        at = (at + 1) & (s->places - 1);
    return &s->of[at];
}

static void set_memory(const struct sharing *s, int value, const ferry_memory *memory)
{
    s->at[value].memory = memory;
    *place_of(s, memory) = value + 1;
}

/* The value with that memory; −1 if no item uses it. */
static int find(const struct sharing *s, const ferry_memory *memory)
{
    return *place_of(s, memory) - 1;
}

/* Marks the value of a blob's data or diff as fixed. */
static int fix(const struct sharing *s, const ferry_blob *blob, bool diff)
{
    const ferry_memory *memory = memory_of(blob, diff);
    int value = memory ? find(s, memory) : -1;

    if (value >= 0)
        s->at[value].fixed = true;
    return memory ? 0 : ferry_last_error_code();
}

/* ---- values of operands ---------------------------------------------------------------------- */

static bool is_param(const ferry_layer *layer, const ferry_blob *blob)
{
    int i;

    for (i = 0; i < layer->n_params; i++)
        if (layer->params[i].blob == blob)
            return true;
    return false;
}

/* Sets the value of an operand that is a diff or a kept scratch blob. */
static int find_value(struct sharing *s, const ferry_layer *layer, struct ferry__use *use)
{
    const ferry_memory *memory;
    struct ferry__value *v;

    if (use->value >= 0 || !use->blob || is_param(layer, use->blob))
        return 0;
    memory = memory_of(use->blob, use->diff);
    if (!memory)
        return ferry_last_error_code();
    use->value = find(s, memory);
    if (use->value >= 0)
        return 0;
    v = ferry__program_append(s->p);
    if (!v)
        return FERRY_ENOMEM;
    use->value = s->p->n_values - 1;
    set_memory(s, use->value, memory);
    v->blob = use->blob;
    v->index = v->within = -1;
    v->dtype = (uint32_t)ferry_blob_dtype(use->blob);
    v->count = ferry_blob_element_count(use->blob);
    return 0;
}

static int find_values(struct sharing *s, struct ferry__item *items, int n)
{
    uint32_t k;
    int i, err = 0;

    for (i = 0; !err && i < n; i++) {
        struct ferry__item *item = &items[i];

        for (k = 0; !err && !item->call && k < item->op.n_in; k++)
            err = find_value(s, item->layer, &item->in[k]);
        for (k = 0; !err && !item->call && k < item->op.n_out; k++)
            err = find_value(s, item->layer, &item->out[k]);
    }
    return err;
}

static int count_operands(const struct ferry__item *items, int n)
{
    int i, count = 0;

    for (i = 0; i < n; i++)
        count += items[i].call ? 0 : (int)(items[i].op.n_in + items[i].op.n_out);
    return count;
}

/* ---- values that stay where they are --------------------------------------------------------- */

/* Fixes all blobs of a layer that has a function of its own, and the tops that have a loss. */
static int fix_layer(const struct sharing *s, const ferry_layer *layer)
{
    bool own = layer->type->forward || layer->type->backward;
    int i, k, err = 0;

    for (k = 0; k < 2; k++) {
        for (i = 0; !err && own && i < layer->n_bottoms; i++)
            err = fix(s, ferry_layer_bottom_at(layer, i), k);
        for (i = 0; !err && i < layer->n_tops; i++)
            if (own || layer->loss_weights[i] != 0)
                err = fix(s, ferry_layer_top_at(layer, i), k);
        for (i = 0; !err && own && i < layer->n_scratch; i++)
            if (layer->scratch[i].blob)
                err = fix(s, layer->scratch[i].blob, k);
    }
    return err;
}

/* Fixes the data and diff of blobs that the caller may see. */
static int fix_visible(const struct sharing *s)
{
    const ferry_net *net = s->p->net;
    int b, err = 0;

    for (b = 0; !err && b < net->n_blobs; b++) {
        int value = find(s, ferry_blob_data_memory(net->blobs[b].blob));

        if (value < 0 || s->p->values[value].pinned) {
            err = fix(s, net->blobs[b].blob, false);
            if (!err)
                err = fix(s, net->blobs[b].blob, true);
        }
    }
    return err;
}

static int fix_values(const struct sharing *s)
{
    int i, err = fix_visible(s);

    for (i = s->p->first_layer; !err && i <= s->p->last_layer; i++)
        err = fix_layer(s, &s->p->net->layers[i]);
    return err;
}

/* ---- lifetimes ------------------------------------------------------------------------------- */

/* Notes that item `at` of the pass reads a value, or writes `written` elements of it. */
static void note(const struct sharing *s, const struct ferry__item *item, int at, int value,
                 bool reads, int64_t written)
{
    ferry_device *device = item->tier == FERRY_TIER_HOST ? NULL : item->layer->device;
    struct ferry__value *v;
    struct content *c;

    if (value < 0)
        return;
    v = &s->p->values[value];
    c = &s->at[value];
    if (v->end < v->first) {
        v->first = at;
        v->device = device;
    }
    v->end = at;
    c->fixed |= v->device != device || (reads && c->written < v->count);
    c->written += reads ? 0 : written;
}

static void note_items(const struct sharing *s, const struct ferry__item *items, int n, int from)
{
    uint32_t k;
    int i;

    for (i = 0; i < n; i++) {
        const struct ferry__item *item = &items[i];

        if (!ferry__item_runs(item))
            continue;
        for (k = 0; k < item->op.n_in; k++)
            note(s, item, from + i, item->in[k].value, true, 0);
        for (k = 0; k < item->op.n_out; k++)
            note(s, item, from + i, item->out[k].value, ferry__op_reads_outputs(&item->op),
                 ferry__operand_count(&item->op.out[k]));
    }
}

/* Operands whose values stay where they are refer to their own blobs again. */
static void forget_fixed(const struct sharing *s, struct ferry__item *items, int n)
{
    uint32_t k;
    int i;

    for (i = 0; i < n; i++) {
        for (k = 0; k < FERRY_OP_INPUTS; k++)
            if (items[i].in[k].value >= s->before && s->p->values[items[i].in[k].value].own)
                items[i].in[k].value = -1;
        for (k = 0; k < FERRY_OP_OUTPUTS; k++)
            if (items[i].out[k].value >= s->before && s->p->values[items[i].out[k].value].own)
                items[i].out[k].value = -1;
    }
}

/* ---------------------------------------------------------------------------------------------- */

static int share(struct sharing *s)
{
    struct ferry__program *p = s->p;
    int i, err = find_values(s, p->items, p->n_items);

    if (!err)
        err = find_values(s, p->back, p->n_back);
    if (!err)
        err = fix_values(s);
    if (err)
        return err;
    for (i = 0; i < p->n_values; i++) {
        p->values[i].first = 0;
        p->values[i].end = -1;
        p->values[i].own = s->at[i].fixed;
    }
    ferry__elide_copies(p);
    err = p->net->recompute ? ferry__recompute(p) : 0;
    if (err)
        return err;
    note_items(s, p->items, p->n_items, 0);
    note_items(s, p->back, p->n_back, p->n_items);
    for (i = 0; i < p->n_values; i++)
        p->values[i].own = s->at[i].fixed;
    forget_fixed(s, p->items, p->n_items);
    forget_fixed(s, p->back, p->n_back);
    return ferry__arena_place(p);
}

int ferry__pass_share(struct ferry__program *p)
{
    struct sharing s = { .p = p, .before = p->n_values };
    int i, room, err;

    if (!p->net->plan_training || p->net->stage_count > 1)
        return 0;
    room = p->n_values + count_operands(p->items, p->n_items) + count_operands(p->back, p->n_back) +
           FERRY__RECOMPUTE_MOST * p->n_items;
    for (s.places = 2; s.places < 2 * (size_t)room;)
        s.places *= 2;
    s.at = calloc((size_t)room + 1, sizeof *s.at);
    s.of = calloc(s.places, sizeof *s.of);
    for (i = 0; s.at && s.of && i < p->n_values; i++) {
        s.at[i].fixed = p->values[i].pinned;
        set_memory(&s, i, ferry_blob_data_memory(p->values[i].blob));
    }
    err = s.at && s.of ? share(&s) : ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
    free(s.at);
    free(s.of);
    return err;
}
