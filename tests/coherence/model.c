/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <string.h>

#define HOST   0u
#define BIT(s) (1u << (s))
#define NOBODY MODEL_SLOTS

const struct model_op model_ops[MODEL_OPS] = {
    { MODEL_READ, 0 },      { MODEL_READ, 1 },       { MODEL_READ, 2 },      { MODEL_MUTABLE, 0 },
    { MODEL_MUTABLE, 1 },   { MODEL_MUTABLE, 2 },    { MODEL_OVERWRITE, 0 }, { MODEL_OVERWRITE, 1 },
    { MODEL_OVERWRITE, 2 }, { MODEL_PREFETCH, 0 },   { MODEL_PREFETCH, 1 },  { MODEL_PREFETCH, 2 },
    { MODEL_ADOPT, 0 },     { MODEL_ADOPT, 1 },      { MODEL_ADOPT, 2 },     { MODEL_EVICT, 1 },
    { MODEL_EVICT, 2 },     { MODEL_INVALIDATE, 0 }, { MODEL_SHRINK, 0 },    { MODEL_REGROW, 0 },
};

const char *model_op_name(unsigned op)
{
    static const char *const names[MODEL_OPS] = {
        "read(host)",     "read(dev0)",      "read(dev1)",      "mutable(host)",   "mutable(dev0)",
        "mutable(dev1)",  "overwrite(host)", "overwrite(dev0)", "overwrite(dev1)", "prefetch(host)",
        "prefetch(dev0)", "prefetch(dev1)",  "adopt(host)",     "adopt(dev0)",     "adopt(dev1)",
        "evict(dev0)",    "evict(dev1)",     "invalidate",      "shrink",          "regrow",
    };

    return names[op];
}

void model_init(struct model *m, bool peer)
{
    memset(m, 0, sizeof(*m));
    m->peer = peer;
    m->used = MODEL_CELLS;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* The design's "cheapest": a peer copy before the host bus, one transfer before two. */
static unsigned price(const struct model *m, unsigned from, unsigned to)
{
    if (from == HOST || to == HOST)
        return 2;
    return m->peer ? 1 : 4;
}

/*
 * The cheapest valid copy; of two with equal cost that of the home, else that of the lowest slot.
 */
static unsigned cheapest(const struct model *m, unsigned to)
{
    static const unsigned order[MODEL_SLOTS] = { 1, HOST, 2 };
    unsigned best = NOBODY;

    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        unsigned from = order[i];

        if (from == to || !(m->valid & BIT(from)))
            continue;
        if (best == NOBODY || price(m, from, to) < price(m, best, to))
            best = from;
    }
    return best;
}

/* Allocates a copy, unless the slot has one. */
static void make_room(struct model *m, unsigned slot)
{
    if (!(m->adopted & BIT(slot)))
        m->allocated |= BIT(slot);
}

static void count(unsigned *copies, unsigned *bytes, unsigned cells)
{
    ++*copies;
    *bytes += cells;
}

/*
 * One transfer: copies the cells in use that have contents from one slot to another, which is then
 * valid. Cells beyond are zero in both.
 */
static void copy(struct model *m, unsigned from, unsigned to)
{
    struct model_traffic *t = &m->traffic;
    unsigned cells = m->length[from] < m->used ? m->length[from] : m->used;

    make_room(m, to);
    memcpy(m->cell[to], m->cell[from], m->used);
    m->length[to] = cells;
    m->valid |= BIT(to);
    if (from == HOST)
        count(&t->h2d[to - 1], &t->bytes_h2d[to - 1], cells);
    else if (to == HOST)
        count(&t->d2h[from - 1], &t->bytes_d2h[from - 1], cells);
    else
        count(&t->d2d[to - 1], &t->bytes_d2d[to - 1], cells);
}

static bool needs_the_host(const struct model *m, unsigned from, unsigned to)
{
    return from != HOST && to != HOST && !m->peer;
}

/* ---- operations ----------------------------------------------------------------------------- */

static void zero(struct model *m, unsigned slot)
{
    make_room(m, slot);
    memset(m->cell[slot], 0, MODEL_CELLS);
    m->length[slot] = m->used;
    m->valid = BIT(slot);
}

/* Copies from the cheapest valid slot to a slot without a valid copy. */
static void fetch(struct model *m, unsigned slot)
{
    unsigned from = cheapest(m, slot);

    if (from == NOBODY) {
        zero(m, slot);
        return;
    }
    if (needs_the_host(m, from, slot)) {
        copy(m, from, HOST);
        from = HOST;
    }
    copy(m, from, slot);
}

/* Cells in use without contents read as zeros, which are contents from then on. */
static void fill_up(struct model *m, unsigned slot)
{
    if (m->length[slot] < m->used)
        m->length[slot] = m->used;
}

static void read_at(struct model *m, unsigned slot)
{
    if (!(m->valid & BIT(slot)))
        fetch(m, slot);
    fill_up(m, slot);
}

/* This is the only valid copy, and the program has written all cells in use. */
static void written(struct model *m, unsigned slot)
{
    if (!(m->valid & BIT(slot)))
        m->length[slot] = m->used;
    fill_up(m, slot);
    m->valid = BIT(slot);
}

static void mutate(struct model *m, unsigned slot, uint8_t value)
{
    read_at(m, slot);
    written(m, slot);
    for (unsigned i = 0; i < m->used; i++)
        if (model_mutates(i))
            m->cell[slot][i] = value;
}

/* Cells beyond those in use still have no contents. */
static void overwrite(struct model *m, unsigned slot, uint8_t value)
{
    make_room(m, slot);
    written(m, slot);
    memset(m->cell[slot], value, m->used);
}

static void prefetch(struct model *m, unsigned slot)
{
    unsigned from = cheapest(m, slot);

    if (m->valid & BIT(slot) || from == NOBODY)
        return;
    make_room(m, slot); /* allocated first, so that lack of memory is detected at once */
    if (needs_the_host(m, from, slot)) {
        copy(m, from, HOST); /* the first transfer; the next access makes the second */
        return;
    }
    copy(m, from, slot);
    fill_up(m, slot);
}

/* The program's memory contains the value in all of its cells. */
static void adopt(struct model *m, unsigned slot, uint8_t value)
{
    m->allocated &= ~BIT(slot);
    m->adopted |= BIT(slot);
    m->valid = BIT(slot);
    m->length[slot] = MODEL_CELLS;
    memset(m->cell[slot], value, MODEL_CELLS);
}

/* The library frees its own block on a device; the last valid copy is copied to the host first. */
static void evict(struct model *m, unsigned slot)
{
    if (!(m->allocated & BIT(slot)))
        return;
    if (m->valid == BIT(slot))
        read_at(m, HOST);
    m->valid &= ~BIT(slot);
    m->allocated &= ~BIT(slot);
}

/*
 * Drops copies that are too short if another one is long enough; otherwise extends each with zeros.
 */
static void regrow(struct model *m)
{
    unsigned enough = 0;

    if (m->used == MODEL_CELLS)
        return;
    m->used = MODEL_CELLS;
    for (unsigned s = 0; s < MODEL_SLOTS; s++)
        if (m->valid & BIT(s) && m->length[s] == MODEL_CELLS)
            enough |= BIT(s);
    if (enough)
        m->valid = enough;
    for (unsigned s = 0; s < MODEL_SLOTS; s++)
        if (m->valid & BIT(s))
            memset(m->cell[s] + m->length[s], 0, MODEL_CELLS - m->length[s]);
}

void model_step(struct model *m, const struct model_op *op, uint8_t value)
{
    switch (op->kind) {
    case MODEL_READ:
        read_at(m, op->slot);
        break;
    case MODEL_MUTABLE:
        mutate(m, op->slot, value);
        break;
    case MODEL_OVERWRITE:
        overwrite(m, op->slot, value);
        break;
    case MODEL_PREFETCH:
        prefetch(m, op->slot);
        break;
    case MODEL_ADOPT:
        adopt(m, op->slot, value);
        break;
    case MODEL_EVICT:
        evict(m, op->slot);
        break;
    case MODEL_INVALIDATE:
        m->valid = 0;
        break;
    case MODEL_SHRINK:
        m->used = MODEL_CELLS / 2;
        break;
    case MODEL_REGROW:
        regrow(m);
        break;
    }
}

/* ---- predicates on a state ------------------------------------------------------------------ */

unsigned model_state(const struct model *m)
{
    unsigned longs = 0;

    for (unsigned s = 0; s < MODEL_SLOTS; s++)
        if (m->valid & BIT(s) && m->length[s] == MODEL_CELLS)
            longs |= BIT(s);
    return (m->used == MODEL_CELLS) +
           2u * (m->valid + 8u * (m->allocated + 8u * (m->adopted + 8u * longs)));
}

bool model_is_sound(const struct model *m)
{
    bool sound = !(m->valid & ~(m->allocated | m->adopted)) && !(m->allocated & m->adopted);

    for (unsigned s = 0; s < MODEL_SLOTS; s++)
        for (unsigned t = 0; t < s; t++)
            if (m->valid & BIT(s) && m->valid & BIT(t) &&
                memcmp(m->cell[s], m->cell[t], m->used) != 0)
                sound = false;
    return sound;
}
