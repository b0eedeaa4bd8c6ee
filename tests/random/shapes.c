/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* Steps that create, reshape and share blobs. */

#define NUMBER(o) ((int)((o)-run.obj))

struct obj *some_obj(struct dice *d)
{
    unsigned first = roll(d, OBJECTS);

    for (unsigned i = 0; i < OBJECTS; i++)
        if (run.obj[(first + i) % OBJECTS].blob)
            return &run.obj[(first + i) % OBJECTS];
    return NULL;
}

struct obj *free_obj(void)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        if (!run.obj[i].blob)
            return &run.obj[i];
    return NULL;
}

static const ferry_dtype dtypes[] = {
    FERRY_F32, FERRY_F32,  FERRY_F32, FERRY_F32, FERRY_F64,
    FERRY_F16, FERRY_BF16, FERRY_I8,  FERRY_I32, FERRY_I64,
};

/* A shape of at most ROOM / 2 elements; rarely an unusual one. */
static int some_shape(struct dice *d, int64_t *shape)
{
    unsigned kind = roll(d, 24);

    if (kind == 0)
        return FERRY_UNSHAPED;
    if (kind == 1)
        return 0;
    shape[0] = 1 + roll(d, kind < 12 ? 4 : ROOM / 2);
    shape[1] = kind < 12 ? 1 + roll(d, ROOM / 8) : 1;
    shape[2] = 1;
    if (kind == 2)
        shape[roll(d, 3)] = 0;
    return kind < 8 ? 3 : kind < 12 ? 2 : 1;
}

/* ---- creation and destruction --------------------------------------------------------------- */

void step_create(struct dice *d)
{
    struct obj *o = free_obj(), made = { 0 };
    unsigned home = world_device(d);
    ferry_blob *b = NULL;
    struct act none = { 0 };
    int64_t shape[AXES] = { 0 };
    int rank = some_shape(d, shape), err;

    if (!o || home == HOST)
        return;
    made.dtype = dtypes[roll(d, sizeof(dtypes) / sizeof(dtypes[0]))];
    set_shape(&made, rank, shape);
    tell("create blob %d of %d %s at place %u", NUMBER(o), (int)made.count,
         ferry_dtype_name(made.dtype), home);
    none.place = home;
    act_begin(&none, d);
    err = ferry_blob_create(run.place[home].dev, made.dtype, shape, rank, &b);
    if (!act_end(&none, err)) {
        if (b)
            wrong("refused, but there is a blob");
        return;
    }
    made.blob = b;
    *o = made;
    half_set(&o->half[DATA], store_create(made.count), 0, -1);
    if (one_in(d, 2))
        touch(o, DIFF);
}

void destroy_obj(struct obj *o)
{
    ferry_blob_destroy(o->blob);
    o->blob = NULL;
    for (unsigned k = 0; k < 2; k++)
        half_set(&o->half[k], NULL, 0, -1);
}

void step_destroy(struct dice *d)
{
    struct obj *o = some_obj(d);

    if (!o)
        return;
    tell("destroy blob %d", NUMBER(o));
    destroy_obj(o);
}

/* ---- reshape -------------------------------------------------------------------------------- */

static bool grows(const struct obj *o, unsigned half, int64_t count)
{
    return o->half[half].store && count > half_room(o, half);
}

/* The oracle's reshape; a store that must grow is replaced by zeros. */
static void follow_reshape(struct obj *o, int rank, const int64_t *shape)
{
    int64_t count = count_of(rank, shape);

    for (unsigned k = 0; k < 2; k++)
        if (grows(o, k, count))
            half_set(&o->half[k], store_create(count), 0, -1);
    set_shape(o, rank, shape);
}

static void check_shape(const struct obj *o)
{
    if (ferry_blob_rank(o->blob) != (o->rank < 0 ? 0 : o->rank) ||
        ferry_blob_element_count(o->blob) != o->count)
        wrong("blob %d has %d axes and %d elements instead of %d and %d", NUMBER(o),
              ferry_blob_rank(o->blob), (int)ferry_blob_element_count(o->blob), o->rank,
              (int)o->count);
    if (ferry_blob_capacity(o->blob) != half_room(o, DATA))
        wrong("blob %d has a capacity of %d instead of %d", NUMBER(o),
              (int)ferry_blob_capacity(o->blob), (int)half_room(o, DATA));
}

void step_reshape(struct dice *d)
{
    struct obj *o = some_obj(d);
    int64_t shape[AXES] = { 0 }, count;
    int rank = some_shape(d, shape), err;
    bool grew = one_in(d, 2), was = grew, should;
    struct act a;

    if (!o)
        return;
    if (one_in(d, 2)) { /* back to the full capacity */
        rank = 1;
        shape[0] = half_room(o, DATA);
    }
    count = count_of(rank, shape);
    should = grows(o, DATA, count) || grows(o, DIFF, count);
    tell("reshape blob %d from %d to %d%s", NUMBER(o), (int)o->count, (int)count,
         should ? ", which grows" : "");
    a = act_on(o, DATA, 0, NOWHERE);
    a.expected = should && o->slice ? FERRY_ESHAPE : 0;
    act_begin(&a, d);
    err = ferry_blob_reshape(o->blob, shape, rank, &grew);
    if (!act_end(&a, err)) {
        if (grew != was)
            wrong("refused, but *out_grew has changed");
        return;
    }
    if (grew != should)
        wrong("grew is %d", (int)grew);
    follow_reshape(o, rank, shape);
    check_shape(o);
}

/* ---- sharing -------------------------------------------------------------------------------- */

/* A blob that shares data with another has the same home, and so do slices. */
static void check_home(const struct obj *o, const struct obj *p)
{
    const ferry_device *home = ferry_blob_home(o->blob), *theirs = ferry_blob_home(p->blob);

    if (home != theirs)
        wrong("blob %d lives on %s, and blob %d on %s", NUMBER(o), ferry_device_name(home),
              NUMBER(p), ferry_device_name(theirs));
}

static struct obj *another_like(struct obj *o, struct dice *d)
{
    struct obj *first = some_obj(d);

    for (int i = 0; i < OBJECTS; i++) {
        struct obj *p = &run.obj[(first - run.obj + i) % OBJECTS];

        if (p->blob && p != o && p->dtype == o->dtype && p->count == o->count)
            return p;
    }
    return first;
}

void step_share(struct dice *d)
{
    struct obj *o = some_obj(d), *p;
    unsigned half = roll(d, 2);
    const struct half *theirs;
    struct act a;

    if (!o)
        return;
    p = another_like(o, d);
    if (!touch(p, half))
        return;
    theirs = &p->half[half];
    tell("blob %d shares %s of blob %d", NUMBER(o), half ? "diff" : "data", NUMBER(p));
    a = act_on(o, half, 0, NOWHERE);
    if (o->dtype != p->dtype || o->count != p->count)
        a.expected = FERRY_ESHAPE;
    else if (o->slice)
        a.expected = FERRY_EPERM;
    if (run.lost && run.place[world_place_of(ferry_blob_home(p->blob))].lost)
        a.allowed = FERRY_ELOST; /* its home would have to be there */
    act_begin(&a, d);
    if (!act_end(&a, half ? ferry_blob_share_diff(o->blob, p->blob)
                          : ferry_blob_share_data(o->blob, p->blob)))
        return;
    half_set(&o->half[half], theirs->store, theirs->offset, theirs->limit);
    check_home(o, p);
    check_shape(o);
}

void step_slice(struct dice *d)
{
    struct obj *o = some_obj(d), *s = free_obj(), made;
    int64_t shape[AXES], start, count, entry;
    bool past = one_in(d, 16);
    ferry_blob *b = NULL;
    struct act a;

    if (!o || !s)
        return;
    a = act_on(o, DATA, 0, NOWHERE);
    start = o->rank > 0 && o->shape[0] ? roll(d, (unsigned)o->shape[0]) : 0;
    count = o->rank > 0 ? roll(d, (unsigned)(o->shape[0] - start) + 1) : 1;
    if (past)
        count += o->rank > 0 ? o->shape[0] - start + 1 : 0;
    if (past || o->rank <= 0)
        a.expected = FERRY_EINVAL;
    tell("blob %d is slice %d + %d of blob %d", NUMBER(s), (int)start, (int)count, NUMBER(o));
    act_begin(&a, d);
    if (!act_end(&a, ferry_blob_slice(o->blob, start, count, &b))) {
        if (b)
            wrong("refused, but there is a slice");
        return;
    }
    if (!touch(o, DIFF))
        return;
    made = *o;
    made.blob = b;
    made.slice = true;
    memcpy(shape, o->shape, sizeof(shape));
    entry = count_of(o->rank - 1, shape + 1);
    shape[0] = count;
    set_shape(&made, o->rank, shape);
    made.half[DATA].store = made.half[DIFF].store = NULL;
    *s = made;
    for (unsigned k = 0; k < 2; k++)
        half_set(&s->half[k], o->half[k].store, o->half[k].offset + start * entry, count * entry);
    check_shape(s);
    check_home(s, o);
}

void step_move(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned to = world_device(d);
    struct act a;

    if (!o || to == HOST)
        return;
    tell("blob %d moves to place %u", NUMBER(o), to);
    a = act_on(o, DATA, 0, to);
    act_begin(&a, d);
    if (!act_end(&a, ferry_blob_move_to(o->blob, run.place[to].dev)))
        return;
    if (ferry_blob_home(o->blob) != run.place[to].dev)
        wrong("blob %d does not live there", NUMBER(o));
}

/* ---- invalid calls --------------------------------------------------------------------------- */

void step_nonsense(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned which = roll(d, 8), place = world_place(d);
    ferry_ref at = { NULL, 0 };
    struct act a;
    int err = 0;

    if (!o)
        return;
    a = act_on(o, DATA, 0, NOWHERE);
    tell("invalid call %u with blob %d", which, NUMBER(o));
    a.expected = which == 3 ? FERRY_EOVERFLOW : FERRY_EINVAL;
    act_begin(&a, d);
    switch (which) {
    case 0:
        err = ferry_memory_access(memory_of(o, DATA), run.place[place].dev, 0, NULL, &at);
        break;
    case 1:
        err = ferry_blob_reshape(o->blob, (int64_t[]){ -1 }, 1, NULL);
        break;
    case 2:
        err = ferry_blob_reshape(o->blob, (int64_t[40]){ 0 }, FERRY_MAX_AXES + 1, NULL);
        break;
    case 3:
        err = ferry_blob_reshape(o->blob, (int64_t[]){ INT64_MAX, 3 }, 2, NULL);
        break;
    case 4:
        err = ferry_blob_move_to(o->blob, NULL);
        break;
    case 5:
        err = ferry_blob_slice(o->blob, -1, 1, NULL);
        break;
    case 6:
        err = ferry_memory_adopt(memory_of(o, DATA), run.place[place].dev, at, 8, 0, NULL, NULL);
        break;
    default:
        err = ferry_blob_copy_from(o->blob, NULL, 0);
        break;
    }
    (void)act_end(&a, err);
}
