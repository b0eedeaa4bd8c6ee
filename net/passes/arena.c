/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assigns memory to values: one arena for each device (several blocks if it has a max_binding) and
 * one for the host, in which values whose lifetimes do not overlap share bytes. A value that
 * several devices use has its blob's own memory, so that coherence copies only that.
 */
#include "net/passes/passes.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* ---- lifetimes ------------------------------------------------------------------------------- */

/* The processor that accesses an item's operands: a device, or NULL for the host. */
static ferry_device *side_of(const struct ferry__item *item)
{
    return item->tier == FERRY_TIER_HOST ? NULL : item->layer->device;
}

static void note(struct ferry__program *p, int at, int value)
{
    const struct ferry__item *item = &p->items[at];
    struct ferry__value *v;

    if (value < 0)
        return;
    v = &p->values[ferry__value_root(p, value)];
    if (v->end < v->first) {
        v->first = at;
        v->device = side_of(item);
    }
    v->end = at;
    if (v->device != side_of(item))
        v->own = true;
}

static void find_lifetimes(struct ferry__program *p)
{
    uint32_t k;
    int i;

    for (i = 0; i < p->n_values; i++) {
        p->values[i].first = 0;
        p->values[i].end = -1;
        p->values[i].own = p->values[i].own || p->values[i].pinned;
    }
    for (i = 0; i < p->n_items; i++) {
        if (p->items[i].call || p->items[i].dropped)
            continue;
        for (k = 0; k < p->items[i].op.n_in; k++)
            note(p, i, p->items[i].in[k].value);
        for (k = 0; k < p->items[i].op.n_out; k++)
            note(p, i, p->items[i].out[k].value);
    }
}

static bool is_placed(const struct ferry__value *v)
{
    return v->within < 0 && !v->own && v->end >= v->first && v->count > 0;
}

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
}

/* ---- divisions ------------------------------------------------------------------------------- */

/*
 * Makes a value live as long as a division that uses it: chains run different items of the division
 * at the same time.
 */
static void prolong(struct ferry__program *p, const struct ferry__division *d, int value)
{
    struct ferry__value *v;

    if (value < 0)
        return;
    v = &p->values[ferry__value_root(p, value)];
    if (v->division)
        return;
    v->first = d->first < v->first ? d->first : v->first;
    v->end = d->last > v->end ? d->last : v->end;
}

/*
 * Places the division's own values in a block, which is an intermediate with a part for a chain.
 * `order` has these `n` values.
 */
static int add_block(struct ferry__program *p, int index, int *order, int n)
{
    struct ferry__division *d = &p->divisions[index];
    struct ferry__value *v;
    uint64_t end;
    int err = ferry__offsets_assign(p, order, n, &end);

    d->block = -1;
    if (err || !end)
        return err;
    d->chain_bytes = (end + FERRY__PAGE - 1) / FERRY__PAGE * FERRY__PAGE;
    v = ferry__program_append(p);
    if (!v)
        return FERRY_ENOMEM;
    d->block = p->n_values - 1;
    v->index = v->within = -1;
    v->dtype = FERRY_U8;
    v->rank = 1;
    v->stride[0] = 1;
    v->shape[0] = v->count = (int64_t)(d->chains.count * d->chain_bytes);
    v->first = d->first;
    v->end = d->last;
    v->device = p->items[d->first].layer->device;
    return 0;
}

/* Prolongs the other values that a division uses. */
static void prolong_all(struct ferry__program *p, const struct ferry__division *d)
{
    uint32_t k;
    int n;

    for (n = d->first; n <= d->last; n++) {
        const struct ferry__item *item = &p->items[n];

        for (k = 0; !item->dropped && k < item->op.n_in; k++)
            prolong(p, d, item->in[k].value);
        for (k = 0; !item->dropped && k < item->op.n_out; k++)
            prolong(p, d, item->out[k].value);
    }
}

/*
 * Lists the values of the divisions in `order`, those of each in their order. Those of number i,
 * from 1 on, begin at begin[i] and end at begin[i + 1]. `begin` has zeros before.
 */
static void list_by_division(const struct ferry__program *p, int *order, int *begin)
{
    int i;

    for (i = 0; i < p->n_values; i++)
        if (p->values[i].division && is_placed(&p->values[i]))
            begin[p->values[i].division]++;
    for (i = 1; i <= p->n_divisions + 1; i++)
        begin[i] += begin[i - 1];
    for (i = p->n_values; i-- > 0;)
        if (p->values[i].division && is_placed(&p->values[i]))
            order[--begin[p->values[i].division]] = i;
}

static int place_divisions(struct ferry__program *p)
{
    int *order = malloc(((size_t)p->n_values + 1) * sizeof *order);
    int *begin = calloc((size_t)p->n_divisions + 2, sizeof *begin);
    int i, err = order && begin ? 0 : no_memory();

    if (!err)
        list_by_division(p, order, begin);
    for (i = 0; !err && i < p->n_divisions; i++) {
        prolong_all(p, &p->divisions[i]);
        err = add_block(p, i, order + begin[i + 1], begin[i + 2] - begin[i + 1]);
    }
    free(order);
    free(begin);
    return err;
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static struct ferry__arena *find_arena(const ferry_net *net, const struct ferry__value *v)
{
    int i;

    for (i = 0; i < net->n_arenas; i++)
        if (net->arenas[i].device == v->device && net->arenas[i].part == v->part)
            return &net->arenas[i];
    return NULL;
}

ferry_memory *ferry__arena_of(const ferry_net *net, const struct ferry__value *v)
{
    const struct ferry__arena *arena = find_arena(net, v);

    return arena ? arena->memory : NULL;
}

static int add_arena(ferry_net *net, const struct ferry__value *v)
{
    struct ferry__arena *grown =
        realloc(net->arenas, (size_t)(net->n_arenas + 1) * sizeof *net->arenas);

    if (!grown)
        return no_memory();
    net->arenas = grown;
    grown[net->n_arenas++] = (struct ferry__arena){ .device = v->device, .part = v->part };
    return 0;
}

/*
 * Grows the arena. Programs for other shapes use the same arena, which has the size of the largest.
 */
static int grow(ferry_net *net, const struct ferry__value *v)
{
    struct ferry__arena *arena = find_arena(net, v);
    uint64_t bytes = v->offset + ferry__placed_bytes(v);
    ferry_memory *larger;
    int err = arena ? 0 : add_arena(net, v);

    if (err)
        return err;
    arena = find_arena(net, v);
    if (arena->memory && ferry_memory_size(arena->memory) >= bytes)
        return 0;
    err = ferry_memory_create(v->device ? v->device : net->device, (size_t)bytes, &larger);
    if (err)
        return err;
    ferry_memory_release(arena->memory);
    arena->memory = larger;
    return 0;
}

int ferry__arena_place(struct ferry__program *p)
{
    int *order = malloc(((size_t)p->n_values + 1) * sizeof *order);
    int i, n = 0, err;
    uint64_t end;

    if (!order)
        return no_memory();
    for (i = 0; i < p->n_values; i++)
        if (is_placed(&p->values[i]) && !p->values[i].division)
            order[n++] = i;
    err = ferry__offsets_assign(p, order, n, &end);
    free(order);
    for (i = 0; !err && i < p->n_values; i++)
        if (is_placed(&p->values[i]) && !p->values[i].division)
            err = grow(p->net, &p->values[i]);
    return err;
}

int ferry__pass_arena(struct ferry__program *p)
{
    int err;

    find_lifetimes(p);
    err = ferry__divide(p);
    if (!err)
        err = place_divisions(p);
    return err ? err : ferry__arena_place(p);
}

int ferry__arenas_begin(ferry_net *net)
{
    int i, err = 0;

    for (i = 0; !err && i < net->n_arenas; i++) {
        struct ferry__arena *arena = &net->arenas[i];
        ferry_ref ref;

        if (!arena->memory)
            continue;
        err = ferry_memory_access(arena->memory, arena->device, FERRY_WRITE, NULL, &ref);
        if (err == FERRY_ELOST || err == FERRY_EDEVICE)
            err = ferry_memory_discard(arena->memory);
    }
    return err;
}

void ferry__arenas_end(ferry_net *net)
{
    int i;

    for (i = 0; i < net->n_arenas; i++)
        ferry_memory_release(net->arenas[i].memory);
    free(net->arenas);
    net->arenas = NULL;
    net->n_arenas = 0;
}
