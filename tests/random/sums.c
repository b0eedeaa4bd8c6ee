/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* Steps that compute, and that copy between blobs. */

#define MUTABLE   (FERRY_READ | FERRY_WRITE)
#define NUMBER(o) ((int)((o)-run.obj))

bool is_float(ferry_dtype dtype)
{
    return dtype < FERRY_I8;
}

static bool is_uninit(const struct obj *o, unsigned half)
{
    return ferry_memory_head(memory_of(o, half)) == FERRY_HEAD_UNINITIALIZED;
}

static bool is_lost(const struct obj *o, unsigned half)
{
    const struct store *s = o->half[half].store;

    return s->state == LOST || (s->state == SHAKY && s->may_be_lost);
}

/* ---- one half ------------------------------------------------------------------------------- */

void step_fill(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2;
    double value = (double)roll(d, LARGEST);
    bool covers;
    struct act a;

    if (!o || !touch(o, half))
        return;
    tell("fill %s of blob %d with %g", half ? "diff" : "data", NUMBER(o), value);
    covers = half_covers(o, half, run.obj);
    a = act_on(o, half, o->count == 0 ? 0 : covers ? FERRY_WRITE : MUTABLE, NOWHERE);
    act_begin(&a, d);
    if (!act_end(&a, half ? ferry_blob_fill_diff(o->blob, value)
                          : ferry_blob_fill_data(o->blob, value)))
        return;
    for (int64_t i = 0; i < o->count; i++)
        set_value(o, half, i, value);
}

void step_scale(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2;
    double factor = one_in(d, 4) ? 0 : -1;
    struct act a;

    if (!o || !touch(o, half))
        return;
    tell("scale %s of blob %d by %g", half ? "diff" : "data", NUMBER(o), factor);
    a = act_on(o, half, is_uninit(o, half) && !is_lost(o, half) ? 0 : MUTABLE, NOWHERE);
    if (o->count == 0)
        a.touched[0].access = 0, a.allowed = is_lost(o, half) ? FERRY_ELOST : 0;
    if (!is_float(o->dtype))
        a.expected = FERRY_EUNSUPPORTED;
    act_begin(&a, d);
    if (!act_end(&a, half ? ferry_blob_scale_diff(o->blob, factor)
                          : ferry_blob_scale_data(o->blob, factor)))
        return;
    for (int64_t i = 0; i < o->count; i++)
        if (doubt_of(o, half, i) == SURE)
            set_value(o, half, i, value_of(o, half, i) * factor);
        else
            set_doubt(o, half, i, ANY);
}

/* Whether every element is certain, and no difference exceeds the exact range of all dtypes. */
static bool may_subtract(const struct obj *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        double left = value_of(o, DATA, i) - value_of(o, DIFF, i);

        if (left > LARGEST || left < -LARGEST)
            return false;
    }
    return true;
}

void step_update(struct dice *d)
{
    struct obj *o = some_obj(d);
    struct act a;

    if (!o || !touch(o, DIFF) || !may_subtract(o))
        return;
    tell("update blob %d", NUMBER(o));
    a = act_on(o, DATA, MUTABLE, NOWHERE);
    a.touched[1] = (struct touched){ o, DIFF, FERRY_READ };
    a.ntouched = 2;
    if (!is_float(o->dtype))
        a.expected = FERRY_EUNSUPPORTED;
    else if (is_uninit(o, DATA) && o->half[DATA].store->state == SAFE)
        a.expected = FERRY_EUNINIT;
    else if (is_uninit(o, DATA))
        a.allowed = FERRY_EUNINIT;
    if (o->count == 0 && !a.expected && is_lost(o, DATA))
        a.also = FERRY_ELOST; /* the oracle does not know which element */
    if (a.expected == FERRY_EUNINIT || o->count == 0)
        a.touched[0].access = a.touched[1].access = 0;
    act_begin(&a, d);
    if (!act_end(&a, ferry_blob_update(o->blob)))
        return;
    for (int64_t i = 0; i < o->count; i++)
        if (doubt_of(o, DATA, i) == SURE && doubt_of(o, DIFF, i) == SURE)
            set_value(o, DATA, i, value_of(o, DATA, i) - value_of(o, DIFF, i));
        else
            set_doubt(o, DATA, i, ANY);
}

static bool sum_of(const struct obj *o, unsigned half, bool squares, double *out)
{
    *out = 0;
    for (int64_t i = 0; i < o->count; i++) {
        double v = value_of(o, half, i);

        if (doubt_of(o, half, i) != SURE)
            return false;
        *out += squares ? v * v : v < 0 ? -v : v;
    }
    return true;
}

void step_sum(struct dice *d)
{
    static int (*const sums[2][2])(const ferry_blob *, double *) = {
        { ferry_blob_asum_data, ferry_blob_asum_diff },
        { ferry_blob_sumsq_data, ferry_blob_sumsq_diff },
    };
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, squares = roll(d, 2);
    double is = -1, should;
    struct act a;

    if (!o || !touch(o, half))
        return;
    tell("%s of %s of blob %d", squares ? "sumsq" : "asum", half ? "diff" : "data", NUMBER(o));
    a = act_on(o, half, FERRY_READ, NOWHERE);
    if (!is_float(o->dtype))
        a.expected = FERRY_EUNSUPPORTED;
    act_begin(&a, d);
    if (!act_end(&a, sums[squares][half](o->blob, &is))) {
        if (is != -1)
            wrong("refused, but *out is %g", is);
        return;
    }
    if (sum_of(o, half, squares, &should) && is != should)
        wrong("the sum is %g instead of %g", is, should);
}

void step_element(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2;
    int64_t index[AXES], at = 0;
    double is = -1;
    struct act a;

    if (!o || !touch(o, half))
        return;
    for (int i = 0; i < o->rank; i++) {
        index[i] = o->shape[i] ? roll(d, (unsigned)o->shape[i]) : 0;
        at = at * o->shape[i] + index[i];
    }
    tell("element %d of %s of blob %d", (int)at, half ? "diff" : "data", NUMBER(o));
    a = act_on(o, half, FERRY_READ, HOST);
    a.expected = o->count == 0 ? FERRY_EINVAL : 0;
    act_begin(&a, d);
    if (act_end(&a, half ? ferry_blob_diff_at(o->blob, index, o->rank < 0 ? 0 : o->rank, &is)
                         : ferry_blob_data_at(o->blob, index, o->rank < 0 ? 0 : o->rank, &is)) &&
        !is_right(o, half, at, is))
        wrong("the element is %g instead of %g", is, value_of(o, half, at));
}

/* ---- copy_from ------------------------------------------------------------------------------ */

static bool same_shape(const struct obj *o, const struct obj *p)
{
    return o->rank == p->rank &&
           (o->rank <= 0 || memcmp(o->shape, p->shape, (size_t)o->rank * sizeof(o->shape[0])) == 0);
}

/* Whether both have elements of one memory in common, but not exactly the same ones. */
static bool overlap(const struct obj *o, const struct obj *p, unsigned half, int64_t n)
{
    const struct half *x = &o->half[half], *y = &p->half[half];

    return x->store == y->store && x->offset < y->offset + n && y->offset < x->offset + n;
}

/* `doubtful`: some of its work was made to fail. */
static void follow_copy(struct obj *o, const struct obj *p, unsigned half, bool doubtful)
{
    double value[ROOM];
    enum doubt doubt[ROOM];
    struct store *to = o->half[half].store, *from = p->half[half].store;

    for (int64_t i = 0; i < p->count; i++) {
        value[i] = value_of(p, half, i);
        doubt[i] = doubt_of(p, half, i);
    }
    for (int64_t i = 0; i < p->count; i++) {
        set_value(o, half, i, value[i]);
        set_doubt(o, half, i, doubt[i]);
    }
    if ((from->state == SHAKY && from != to && p->count > 0) || doubtful) {
        to->state = SHAKY;
        to->may_be_lost = true;
    }
}

/* A blob that grows gets a new memory before it is written. */
static void grow_for(struct obj *o, const struct obj *p)
{
    for (unsigned k = 0; k < 2; k++)
        if (o->half[k].store && p->count > half_room(o, k))
            half_set(&o->half[k], store_create(p->count), 0, -1);
    set_shape(o, p->rank, p->shape);
}

static bool must_grow(const struct obj *o, const struct obj *p)
{
    return p->count > half_room(o, DATA) || (o->half[DIFF].store && p->count > half_room(o, DIFF));
}

void step_copy(struct dice *d)
{
    struct obj *o = some_obj(d), *p = some_obj(d);
    unsigned half = roll(d, 3) / 2;
    bool reshape = one_in(d, 2), covers, same, grows;
    struct act a;

    if (!o || o == p || !touch(o, half) || !touch(p, half))
        return;
    same = o->half[half].store == p->half[half].store &&
           o->half[half].offset == p->half[half].offset && same_shape(o, p);
    tell("copy %s of blob %d (%d) from blob %d (%d)%s", half ? "diff" : "data", NUMBER(o),
         (int)o->count, NUMBER(p), (int)p->count, reshape ? ", reshape" : "");
    covers = o->half[half].offset == 0 && p->count >= store_reach(o->half[half].store, run.obj);
    grows = !same_shape(o, p) && p->count > half_room(o, half);
    a = act_on(o, half,
               same || grows || p->count == 0 ? 0
               : covers                       ? FERRY_WRITE
                                              : MUTABLE,
               NOWHERE);
    a.touched[1] = (struct touched){ p, half, same || p->count == 0 ? 0 : FERRY_READ };
    a.ntouched = 2;
    if (!same_shape(o, p) && (!reshape || (o->slice && must_grow(o, p))))
        a.expected = FERRY_ESHAPE;
    if (!a.expected && !same_shape(o, p) && overlap(o, p, half, p->count))
        return; /* a reshape of a blob that it overlaps: the result is undefined */
    act_begin(&a, d);
    if (!act_end(&a, ferry_blob_copy_from(o->blob, p->blob,
                                          (half ? FERRY_COPY_DIFF : 0) |
                                              (reshape ? FERRY_COPY_RESHAPE : 0))))
        return;
    if (!same_shape(o, p))
        grow_for(o, p);
    if (!same)
        follow_copy(o, p, half, a.fired && a.late);
}
