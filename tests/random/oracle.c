/* SPDX-License-Identifier: BSD-2-Clause */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

/* ---- random numbers ------------------------------------------------------------------------- */

/* splitmix64, so that consecutive seeds and steps are unrelated. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

struct dice dice_for(uint64_t seed, uint64_t step)
{
    struct dice d = { .state = mix(mix(seed) + step) };

    return d;
}

static unsigned told(struct dice *d, unsigned n)
{
    if (d->at < d->length)
        return d->script[d->at++] % n;
    return n == LARGEST ? (unsigned)(++d->state % n) : 1 % n;
}

unsigned roll(struct dice *d, unsigned n)
{
    if (d->script)
        return told(d, n);
    d->state += UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)((mix(d->state) >> 32) % n);
}

bool one_in(struct dice *d, unsigned n)
{
    return roll(d, n) == 0;
}

/* ---- stores --------------------------------------------------------------------------------- */

struct store *store_create(int64_t room)
{
    struct store *s = calloc(1, sizeof(*s));

    if (s)
        s->room = room;
    return s;
}

void half_set(struct half *h, struct store *s, int64_t offset, int64_t limit)
{
    struct store *before = h->store;

    if (s)
        s->users++;
    h->store = s;
    h->offset = offset;
    h->limit = limit;
    if (before && --before->users == 0)
        free(before);
}

static int64_t end_of(const struct obj *o, const struct half *h)
{
    return h->offset + (h->limit >= 0 ? h->limit : o->count);
}

int64_t store_reach(const struct store *s, const struct obj *objects)
{
    int64_t reach = 0;

    for (int i = 0; i < OBJECTS; i++)
        for (int k = 0; k < 2; k++) {
            const struct obj *o = &objects[i];

            if (o->blob && o->half[k].store == s && end_of(o, &o->half[k]) > reach)
                reach = end_of(o, &o->half[k]);
        }
    return reach;
}

void store_lost(struct store *s, const struct obj *objects)
{
    s->state = LOST;
    s->tail_reach = s->tail_may_be_lost ? store_reach(s, objects) : 0;
}

bool store_lacks_tail(const struct store *s, const struct obj *objects)
{
    return store_reach(s, objects) < s->tail_reach;
}

void store_read_empty(struct store *s)
{
    memset(s->doubt, OR_ZERO, sizeof(s->doubt));
    s->state = SHAKY;
    s->may_be_lost = true;
}

bool half_covers(const struct obj *o, unsigned half, const struct obj *objects)
{
    const struct half *h = &o->half[half];

    return h->offset == 0 && o->count >= store_reach(h->store, objects);
}

int64_t half_room(const struct obj *o, unsigned half)
{
    const struct half *h = &o->half[half];

    return h->limit >= 0 ? h->limit : h->store->room - h->offset;
}

void store_written(struct store *s, const struct obj *objects)
{
    for (int64_t i = store_reach(s, objects); i < s->room; i++)
        if (s->doubt[i] == SURE)
            s->doubt[i] = OR_ZERO;
}

void store_forget(struct store *s)
{
    memset(s->value, 0, sizeof(s->value));
    memset(s->doubt, SURE, sizeof(s->doubt));
    store_renewed(s);
}

void store_renewed(struct store *s)
{
    s->state = SAFE;
    s->may_be_lost = s->tail_may_be_lost = s->failed = false;
    s->tail_reach = 0;
}

/* ---- elements ------------------------------------------------------------------------------- */

double value_of(const struct obj *o, unsigned half, int64_t i)
{
    return o->half[half].store->value[o->half[half].offset + i];
}

enum doubt doubt_of(const struct obj *o, unsigned half, int64_t i)
{
    return (enum doubt)o->half[half].store->doubt[o->half[half].offset + i];
}

void set_value(struct obj *o, unsigned half, int64_t i, double value)
{
    o->half[half].store->value[o->half[half].offset + i] = value;
    set_doubt(o, half, i, SURE);
}

void set_doubt(struct obj *o, unsigned half, int64_t i, enum doubt doubt)
{
    o->half[half].store->doubt[o->half[half].offset + i] = (unsigned char)doubt;
}

bool is_right(const struct obj *o, unsigned half, int64_t i, double seen)
{
    enum doubt doubt = doubt_of(o, half, i);

    return doubt == ANY || seen == value_of(o, half, i) || (doubt == OR_ZERO && seen == 0);
}

/* ---- shapes --------------------------------------------------------------------------------- */

int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= shape[i];
    return rank == FERRY_UNSHAPED ? 0 : count;
}

void set_shape(struct obj *o, int rank, const int64_t *shape)
{
    o->rank = rank;
    o->count = count_of(rank, shape);
    for (int i = 0; i < rank; i++)
        o->shape[i] = shape[i];
}
