/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the offsets of values in an arena: values whose lifetimes do not overlap share bytes. */
#include "net/passes/passes.h"

#include <ferry/status.h>

#include <stdlib.h>

/* Alignment of values in bytes, unless their device requires more. */
#define ALIGNMENT 64

#define GAP 576

static uint64_t unit_of(const struct ferry__value *v)
{
    uint64_t wanted = v->device ? ferry_device_get_properties(v->device)->offset_alignment : 0;

    return wanted > ALIGNMENT ? wanted : ALIGNMENT;
}

uint64_t ferry__placed_bytes(const struct ferry__value *v)
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
    uint64_t bytes = ferry__placed_bytes(v), unit = unit_of(v);

    if (bytes % FERRY__PAGE || block_of(v))
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
        moved = block && at % block && at % block + ferry__placed_bytes(v) > block;
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

/*
 * The first values of an arena, which are large. Others have the same centre where these bytes are
 * free: two threads, of which each takes one half of every value, then use the same halves of the
 * arena, and do not write to cache lines that the other one has. With more values the search would
 * take longer than it is worth.
 */
#define CENTRES      8
#define MOST_CENTRED 1024

struct centres {
    const struct ferry__value *of[CENTRES];
    int n;
};

static bool is_free(const struct ferry__program *p, const int *order, int n,
                    const struct ferry__value *v, uint64_t at)
{
    int i;

    for (i = 0; i < n; i++) {
        const struct ferry__value *o = &p->values[order[i]];

        if (meet(o, v) && at < o->offset + room_of(o) && o->offset < at + room_of(v))
            return false;
    }
    return true;
}

/* Centres value order[n] within a value that is at least as large, if it can. */
static bool centre(struct ferry__program *p, const int *order, int n, const struct centres *c)
{
    struct ferry__value *v = &p->values[order[n]];
    uint64_t bytes = ferry__placed_bytes(v);
    int i;

    for (i = 0; i < c->n; i++) {
        uint64_t room = ferry__placed_bytes(c->of[i]), at = c->of[i]->offset;

        if (room < bytes)
            continue;
        at += (room - bytes) / 2;
        at -= at % unit_of(v);
        if (is_free(p, order, n, v, at)) {
            v->offset = at;
            return true;
        }
    }
    return false;
}

/* Sets the offsets of a device's values; returns the end of the last. */
static uint64_t assign(struct ferry__program *p, const int *order, int n,
                       const ferry_device *device, bool centres)
{
    struct centres c = { .n = 0 };
    uint64_t end = 0;
    int i;

    for (i = 0; i < n; i++) {
        struct ferry__value *v = &p->values[order[i]];

        if (v->device != device)
            continue;
        if (!centre(p, order, i, &c)) {
            v->offset = lowest(p, order, i, v);
            if (centres && c.n < CENTRES && !block_of(v))
                c.of[c.n++] = v;
        }
        if (v->offset + ferry__placed_bytes(v) > end)
            end = v->offset + ferry__placed_bytes(v);
    }
    return end;
}

/* Whether no value before order[n] is on its device. */
static bool is_first(const struct ferry__program *p, const int *order, int n)
{
    int i;

    for (i = 0; i < n; i++)
        if (p->values[order[i]].device == p->values[order[n]].device)
            return false;
    return true;
}

/* Values have common centres unless that takes more memory of their device. */
static void place_few(struct ferry__program *p, int *order, int n)
{
    int i;

    sort(p, order, n);
    for (i = 0; i < n; i++) {
        const ferry_device *device = p->values[order[i]].device;
        uint64_t end;

        if (!is_first(p, order, i))
            continue;
        end = assign(p, order, n, device, false);
        if (n <= MOST_CENTRED && assign(p, order, n, device, true) > end)
            assign(p, order, n, device, false);
    }
}

/* ---- placement of many values ---------------------------------------------------------------- */

/*
 * The blocks of one device for more than MANY values, in the order of time. Their sizes are powers
 * of two, so that a free block is found at once: the time is linear in the number of values, and
 * the memory at most twice as large.
 */
#define MANY  4096
#define SIZES 64

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
}

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

int ferry__offsets_assign(struct ferry__program *p, int *order, int n, uint64_t *out_end)
{
    int i, err = 0;

    *out_end = 0;
    if (n > MANY)
        err = place_many(p, order, n);
    else
        place_few(p, order, n);
    for (i = 0; !err && i < n; i++) {
        struct ferry__value *v = &p->values[order[i]];
        uint64_t block = block_of(v), end = v->offset + ferry__placed_bytes(v);

        *out_end = end > *out_end ? end : *out_end;
        v->part = block ? v->offset / block : 0;
        v->offset -= v->part * block;
    }
    return err;
}
