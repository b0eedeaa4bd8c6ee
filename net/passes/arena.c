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

/* Alignment of values in bytes, unless their device requires more. */
#define ALIGNMENT 64

#define PAGE 4096
#define GAP  576

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

/*
 * ---- placement
 * -------------------------------------------------------------------------------------
 */

static uint64_t unit_of(const struct ferry__value *v)
{
    uint64_t wanted = v->device ? ferry_device_get_properties(v->device)->offset_alignment : 0;

    return wanted > ALIGNMENT ? wanted : ALIGNMENT;
}

static uint64_t bytes_of(const struct ferry__value *v)
{
    uint64_t bytes = (uint64_t)v->count * ferry_dtype_size((ferry_dtype)v->dtype);
    uint64_t unit = unit_of(v);

    return (bytes + unit - 1) / unit * unit;
}

/* The largest size of a block on the value's device, which divides the arena; 0: unlimited. */
static uint64_t block_of(const struct ferry__value *v)
{
    uint64_t most = v->device ? ferry_device_get_properties(v->device)->max_binding : 0;

    return most - most % unit_of(v);
}

static bool is_placed(const struct ferry__value *v)
{
    return v->within < 0 && !v->own && v->end >= v->first && v->count > 0;
}

static bool meet(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->device == b->device && a->first <= b->end && b->first <= a->end;
}

/*
 * The bytes that a value takes in the arena, with padding after values of whole pages, for example
 * 14 x 14 x 512 floats. Without it, values would begin at the same page offset, where a processor
 * mistakes a read of one value for a read of bytes just written to another (4K aliasing).
 */
static uint64_t room_of(const struct ferry__value *v)
{
    uint64_t bytes = bytes_of(v), unit = unit_of(v);

    if (bytes % PAGE || block_of(v))
        return bytes;
    return bytes + (GAP + unit - 1) / unit * unit;
}

/*
 * The lowest offset that is free during a value's lifetime; `order` has the `n` values that are
 * already placed.
 */
static uint64_t lowest(const struct ferry__program *p, const int *order, int n,
                       const struct ferry__value *v)
{
    uint64_t at = 0, block = block_of(v);
    bool moved = true;
    int i;

    while (moved) {
        moved = block && at % block && at % block + bytes_of(v) > block;
        if (moved)
            at = (at / block + 1) * block;
        for (i = 0; i < n; i++) {
            const struct ferry__value *o = &p->values[order[i]];

            if (meet(o, v) && at < o->offset + room_of(o) && o->offset < at + room_of(v)) {
                at = o->offset + room_of(o);
                moved = true;
            }
        }
    }
    return at;
}

/* Sorts the values by size, large ones first, so that small ones fill the gaps. */
static void sort(const struct ferry__program *p, int *order, int n)
{
    int i, k;

    for (i = 1; i < n; i++) {
        int value = order[i];

        for (k = i; k > 0 && p->values[order[k - 1]].count < p->values[value].count; k--)
            order[k] = order[k - 1];
        order[k] = value;
    }
}

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
}

static void place_few(struct ferry__program *p, int *order, int n)
{
    int i;

    sort(p, order, n);
    for (i = 0; i < n; i++)
        p->values[order[i]].offset = lowest(p, order, i, &p->values[order[i]]);
}

/* ---- placement of many values ---------------------------------------------------------------- */

/*
 * The blocks of one device for more than MANY values, in the order of time. Their sizes are powers
 * of two, so that a free block is found at once: the time is linear in the number of values, and
 * the memory at most twice as large.
 */
#define MANY  4096
#define SIZES 64

struct blocks {
    ferry_device *device;
    uint64_t end;
    int unused[SIZES]; /* for each size: the first value whose block is free; −1: none */
};

struct many {
    struct blocks *blocks;
    int n_blocks;
    int *starts, *ends; /* for each item: the first of the values whose lifetime starts or ends */
    int *next_start, *next_end, *next_unused; /* for each value: the next one of its list; −1 */
};

static struct blocks *blocks_of(struct many *m, const struct ferry__value *v)
{
    struct blocks *grown;
    int i;

    for (i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].device == v->device)
            return &m->blocks[i];
    grown = realloc(m->blocks, (size_t)(m->n_blocks + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    m->blocks = grown;
    grown = &grown[m->n_blocks++];
    grown->device = v->device;
    grown->end = 0;
    for (i = 0; i < SIZES; i++)
        grown->unused[i] = -1;
    return grown;
}

static int size_of(const struct ferry__value *v)
{
    int size = 0;

    while (size < SIZES - 1 && (UINT64_C(1) << size) < room_of(v))
        size++;
    return size;
}

/* Gives a value a free block of its size, or a new one. */
static int begin_life(struct ferry__program *p, struct many *m, int value)
{
    struct ferry__value *v = &p->values[value];
    struct blocks *b = blocks_of(m, v);
    uint64_t most = block_of(v), unit = unit_of(v), bytes;
    int size = size_of(v);

    if (!b)
        return no_memory();
    if (b->unused[size] >= 0) {
        v->offset = p->values[b->unused[size]].offset;
        b->unused[size] = m->next_unused[b->unused[size]];
        return 0;
    }
    bytes = UINT64_C(1) << size;
    bytes = most && bytes > most ? most : bytes;
    v->offset = (b->end + unit - 1) / unit * unit;
    if (most && v->offset % most + bytes > most)
        v->offset = (v->offset / most + 1) * most;
    b->end = v->offset + bytes;
    return 0;
}

static void end_life(const struct ferry__program *p, struct many *m, int value)
{
    struct blocks *b = blocks_of(m, &p->values[value]);
    int size = size_of(&p->values[value]);

    m->next_unused[value] = b->unused[size];
    b->unused[size] = value;
}

static int *make_list(size_t n)
{
    int *list = malloc(n * sizeof *list);
    size_t i;

    for (i = 0; list && i < n; i++)
        list[i] = -1;
    return list;
}

/* Adds the values to the lists of their first and last items. */
static void list_lives(const struct ferry__program *p, struct many *m, const int *order, int n)
{
    int i;

    for (i = n; i-- > 0;) {
        const struct ferry__value *v = &p->values[order[i]];

        m->next_start[order[i]] = m->starts[v->first];
        m->starts[v->first] = order[i];
        m->next_end[order[i]] = m->ends[v->end];
        m->ends[v->end] = order[i];
    }
}

static int place_many(struct ferry__program *p, const int *order, int n)
{
    struct many m = { .starts = NULL };
    int i, k, last = 0, err = 0;

    for (i = 0; i < n; i++)
        last = last > p->values[order[i]].end ? last : p->values[order[i]].end;
    m.starts = make_list((size_t)last + 1);
    m.ends = make_list((size_t)last + 1);
    m.next_start = make_list((size_t)p->n_values);
    m.next_end = make_list((size_t)p->n_values);
    m.next_unused = make_list((size_t)p->n_values);
    if (!m.starts || !m.ends || !m.next_start || !m.next_end || !m.next_unused)
        err = no_memory();
    else
        list_lives(p, &m, order, n);
    for (i = 0; !err && i <= last; i++) {
        for (k = m.starts[i]; !err && k >= 0; k = m.next_start[k])
            err = begin_life(p, &m, k);
        for (k = m.ends[i]; !err && k >= 0; k = m.next_end[k])
            end_life(p, &m, k);
    }
    free(m.blocks);
    free(m.starts);
    free(m.ends);
    free(m.next_start);
    free(m.next_end);
    free(m.next_unused);
    return err;
}

/* Places the `n` values of a division, or of none. *out_end is the end of the last. */
static int place(struct ferry__program *p, int *order, int n, uint64_t *out_end)
{
    int i, err = 0;

    *out_end = 0;
    if (n > MANY)
        err = place_many(p, order, n);
    else
        place_few(p, order, n);
    for (i = 0; !err && i < n; i++) {
        struct ferry__value *v = &p->values[order[i]];
        uint64_t block = block_of(v), end = v->offset + bytes_of(v);

        *out_end = end > *out_end ? end : *out_end;
        v->part = block ? v->offset / block : 0;
        v->offset -= v->part * block;
    }
    return err;
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
    int err = place(p, order, n, &end);

    d->block = -1;
    if (err || !end)
        return err;
    d->chain_bytes = (end + PAGE - 1) / PAGE * PAGE;
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
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
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
    uint64_t bytes = v->offset + bytes_of(v);
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
    err = place(p, order, n, &end);
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
