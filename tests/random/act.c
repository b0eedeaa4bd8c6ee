/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* A call of the library, the fault that may affect it, and whether it is refused correctly. */

#define BIT(p) (1u << (p))

struct act act_on(struct obj *o, unsigned half, unsigned access, unsigned place)
{
    struct act a = { 0 };

    a.touched[0].obj = o;
    a.touched[0].half = half;
    a.touched[0].access = access;
    a.ntouched = 1;
    a.place = place;
    return a;
}

/* ---- before --------------------------------------------------------------------------------- */

static void remember(struct before *b, const struct touched *t)
{
    const struct obj *o = t->obj;

    memset(b, 0, sizeof(*b));
    b->memory = memory_of(o, t->half);
    b->valid = b->memory ? valid_at(o, t->half) : 0;
    b->home = ferry_blob_home(o->blob);
    b->rank = ferry_blob_rank(o->blob);
    b->count = ferry_blob_element_count(o->blob);
    b->capacity = ferry_blob_capacity(o->blob);
    for (int i = 0; i < b->rank; i++)
        b->shape[i] = ferry_blob_dim(o->blob, i);
}

static unsigned a_sim(struct dice *d)
{
    unsigned p = world_device(d);

    return run.place[p].sim ? p : 0;
}

/* Faults that take effect immediately, and their probabilities. */
static const struct {
    uint32_t kind;
    int code;
} now[] = {
    { SIM_CALL_ANY, FERRY_EDEVICE },       { SIM_CALL_ANY, FERRY_EDEVICE },
    { SIM_CALL_ANY, FERRY_EDEVICE },       { SIM_CALL_ALLOC, FERRY_ENOMEM },
    { SIM_CALL_HOST_ALLOC, FERRY_ENOMEM }, { SIM_CALL_MEMCPY, FERRY_EDEVICE },
    { SIM_CALL_OP, FERRY_EDEVICE },        { SIM_CALL_EVENT, FERRY_EDEVICE },
    { SIM_CALL_MAP, FERRY_EDEVICE },       { SIM_CALL_IMPORT, FERRY_EDEVICE },
    { SIM_CALL_WAIT, FERRY_EDEVICE },      { SIM_CALL_UNMAP, FERRY_EDEVICE },
};

/* Arms the fault that a walk of all sequences requests. */
static void arm_as_told(struct act *a)
{
    a->armed = run.late_at;
    a->late = true;
    a->kind = run.late;
    a->code = FERRY_EDEVICE;
    a->nth = 1;
    a->calls = run.control->calls(run.place[a->armed].sim, a->kind);
    run.control->fail_later(run.place[a->armed].sim, a->kind, 1, a->code);
    run.late_at = 0;
}

static void arm(struct act *a, struct dice *d)
{
    bool late = world_has(WORLD_LATE) && one_in(d, 8),
         soon = world_has(WORLD_FAILS) && one_in(d, 6);
    unsigned which = roll(d, sizeof(now) / sizeof(now[0])), p = a_sim(d);

    a->nth = 1 + roll(d, 4);
    if (run.threaded || !p || (!late && !soon))
        return;
    a->armed = p;
    a->late = late;
    a->kind = late ? (uint32_t[]){ SIM_CALL_MEMCPY, SIM_CALL_MEMSET, SIM_CALL_OP }[roll(d, 3)]
                   : now[which].kind;
    a->code = late ? FERRY_EDEVICE : now[which].code;
    if (late)
        a->nth = 1 + a->nth % 2;
    a->calls = run.control->calls(run.place[p].sim, a->kind);
    (late ? run.control->fail_later : run.control->fail_next)(run.place[p].sim, a->kind, a->nth,
                                                              a->code);
}

void act_begin(struct act *a, struct dice *d)
{
    for (unsigned i = 0; i < a->ntouched; i++)
        remember(&a->before[i], &a->touched[i]);
    if (run.late_at)
        arm_as_told(a);
    else if (!d->script)
        arm(a, d);
    a->pending = world_pending();
    a->waited = adoptions_waited();
}

static void disarm(struct act *a)
{
    void *sim = run.place[a->armed].sim;

    if (!a->armed)
        return;
    a->fired = run.control->calls(sim, a->kind) - a->calls >= a->nth;
    (a->late ? run.control->fail_later : run.control->fail_next)(sim, a->kind, 0, 0);
    if (a->fired)
        tell("    a call of kind %u on place %u %s", a->kind, a->armed,
             a->late ? "fails later" : "failed");
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* Whether the library may have used a lost device. */
static bool meets_lost(const struct act *a)
{
    if (!run.lost)
        return false;
    if (a->place < PLACES && a->place != HOST)
        return run.place[a->place].lost;
    for (unsigned i = 0; a->place == NOWHERE && i < a->ntouched; i++) {
        unsigned home = world_place_of(a->before[i].home);

        if (run.place[home].lost)
            return true;
        for (unsigned p = 1; p < run.places; p++)
            if (run.place[p].lost && (a->before[i].valid & BIT(p)))
                return true;
    }
    return false;
}

/* Contents that are lost, or may be; a store that was found lost stays lost. */
static bool meets_loss(const struct act *a, int err)
{
    for (unsigned i = 0; i < a->ntouched; i++) {
        struct store *s = a->touched[i].obj->half[a->touched[i].half].store;

        if (!s || !a->touched[i].access)
            continue;
        if (s->state == SHAKY && err == FERRY_EDEVICE) /* reported once, to the first access */
            return true;
        if (!(a->touched[i].access & FERRY_READ))
            continue;
        if (s->state == LOST && err == FERRY_ELOST)
            return true;
        if (s->state == SHAKY && err == FERRY_ELOST && s->may_be_lost) {
            if (a->ntouched == 1)
                store_lost(s, run.obj);
            return true;
        }
    }
    return false;
}

static bool meets_readonly(const struct act *a)
{
    bool certain, any = false;

    for (unsigned i = 0; i < a->ntouched; i++) {
        const struct touched *t = &a->touched[i];

        if (!(t->access & FERRY_WRITE) ||
            !adoption_readonly(t->obj->half[t->half].store, a->place, &certain))
            continue;
        any |= a->place == NOWHERE || (a->before[i].valid & BIT(a->place));
    }
    return any;
}

static bool is_excused(const struct act *a, int err)
{
    if (err == a->expected || err == a->allowed || err == a->also)
        return true;
    if (a->fired && a->late && a->kind == SIM_CALL_MEMSET && err == FERRY_ELOST)
        return true; /* zeros that were never written have no other copy */
    if (a->fired && (err == a->code || (a->late && err == FERRY_EDEVICE)))
        return true;
    if (err == FERRY_EBUSY)
        return a->nowait;
    if (err == FERRY_ENOMEM && world_has(WORLD_BUDGETS))
        return true;
    if (err == FERRY_EPERM)
        return meets_readonly(a);
    return (err == FERRY_ELOST && meets_lost(a)) || meets_loss(a, err);
}

static bool shares_store(const struct act *a)
{
    return a->touched[0].obj->half[a->touched[0].half].store ==
           a->touched[1].obj->half[a->touched[1].half].store;
}

/*
 * A copy may have been staged on the host, and an operand that is read may have been copied to the
 * place where the call then was refused. After a refused access to a read-only adoption, host and
 * device may have storage of their own, and one copy remains. Otherwise V is unchanged.
 */
static bool same_valid(const struct act *a, unsigned i)
{
    const struct before *was = &a->before[i];
    const struct touched *t = &a->touched[i];
    const struct store *s = t->obj->half[t->half].store;
    bool certain, readonly;
    unsigned v;

    if (!was->memory || run.lost || world_has(WORLD_LATE) || !s || s->idle || s->state != SAFE)
        return true;
    v = valid_at(t->obj, t->half);
    readonly = adoption_readonly(s, NOWHERE, &certain);
    if (a->ntouched > 1 && (t->access == FERRY_READ || shares_store(a)))
        return readonly ? v || !was->valid : (v & was->valid) == was->valid;
    if (readonly)
        return (v || !was->valid) && (v & ~(was->valid | BIT(HOST))) == 0;
    return v == was->valid || v == (was->valid | BIT(HOST));
}

static bool is_as_before(const struct act *a, unsigned i)
{
    const struct before *was = &a->before[i];
    struct before is;

    remember(&is, &a->touched[i]);
    return is.memory == was->memory && is.home == was->home && is.rank == was->rank &&
           is.count == was->count && is.capacity == was->capacity &&
           memcmp(is.shape, was->shape, sizeof(is.shape)) == 0;
}

static void judge_refusal(const struct act *a, int err)
{
    tell("    refused: %s", ferry_last_error());
    if (!is_excused(a, err)) {
        wrong("refused with %d for an unknown reason: %s", err, ferry_last_error());
        return;
    }
    for (unsigned i = 0; i < a->ntouched && !run.threaded; i++) {
        if (!is_as_before(a, i))
            wrong("refused, but the blob has changed");
        if (!same_valid(a, i))
            wrong("refused, but other copies are valid: %#x before, %#x now", a->before[i].valid,
                  valid_at(a->touched[i].obj, a->touched[i].half));
    }
}

/* ---- success -------------------------------------------------------------------------------- */

/* Reports a success where the call should have been refused. */
static void judge_success(const struct act *a)
{
    bool certain = false;

    if (a->expected)
        wrong("done, but should have been refused with %d", a->expected);
    for (unsigned i = 0; i < a->ntouched; i++) {
        const struct touched *t = &a->touched[i];
        const struct store *s = t->obj->half[t->half].store;

        if (s && s->state == LOST && (t->access & FERRY_READ) && t->obj->count > 0 &&
            !store_lacks_tail(s, run.obj))
            wrong("lost contents were read");
        /* if another thread's eviction released it, its deleter may still have to run */
        if (s && (t->access & FERRY_WRITE) && a->place < PLACES && !run.threaded &&
            (a->before[i].valid & BIT(a->place)) && adoption_readonly(s, a->place, &certain) &&
            certain)
            wrong("read-only memory was returned for writing");
    }
}

/* A result computed from contents that may be lost may be lost itself. */
static bool reads_shaky(const struct act *a)
{
    const struct store *s = a->ntouched > 1 && a->touched[1].access & FERRY_READ
                                ? a->touched[1].obj->half[a->touched[1].half].store
                                : NULL;

    return s && s->state == SHAKY;
}

/* The elements before a lost tail were read; a blob that grows over the tail fails again. */
static void read_without_tail(struct store *s)
{
    s->state = SHAKY;
    s->may_be_lost = true;
    s->tail_reach = 0;
}

/* Updates the knowledge of the contents after the call. */
static void follow(const struct act *a, bool done)
{
    for (unsigned i = 0; i < a->ntouched && !run.threaded; i++) {
        const struct touched *t = &a->touched[i];
        struct store *s = t->obj->half[t->half].store;
        bool write = done && (t->access & FERRY_WRITE);

        if (!s)
            continue;
        if (done && t->access)
            s->idle = false;
        if (done && s->state == LOST && t->obj->count == 0)
            store_read_empty(s);
        if (done && s->state == LOST && (t->access & FERRY_READ) && t->obj->count > 0)
            read_without_tail(s);
        if (write && t->access == FERRY_WRITE)
            store_renewed(s);
        if (write && s->state == SHAKY)
            s->may_be_lost = true;
        if (a->fired && a->late && s->state != LOST) {
            /* zeros that were never written have no other copy, and neither has a tail of zeros */
            s->may_be_lost = write || a->kind == SIM_CALL_MEMSET || a->before[i].valid == 0 ||
                             (s->state == SHAKY && s->may_be_lost);
            s->state = SHAKY;
            s->failed = true;
        }
        if (write)
            store_written(s, run.obj);
        if (write && reads_shaky(a)) {
            s->state = SHAKY;
            s->may_be_lost = true;
        }
    }
}

/*
 * A settled reference to a device that is not yet known to be lost: every use of it fails, and what
 * was written there is lost.
 */
static bool is_on_lost_device(const struct act *a)
{
    if (a->place >= PLACES || !run.place[a->place].lost)
        return false;
    for (unsigned i = 0; i < a->ntouched; i++) {
        struct store *s = a->touched[i].obj->half[a->touched[i].half].store;

        if (a->touched[i].access & FERRY_WRITE) {
            s->state = LOST;
            s->tail_reach = 0;
        } else if (!a->before[i].valid) { /* zeros, or nothing, are there now */
            s->state = SHAKY;
            s->may_be_lost = true;
        }
    }
    return true;
}

bool act_end(struct act *a, int err)
{
    disarm(a);
    if (a->nowait && !a->fired && !run.threaded && !world_has(WORLD_BUDGETS) &&
        world_pending() + adoptions_waited() - a->waited < a->pending)
        wrong("waited although requested not to");
    if (err) {
        judge_refusal(a, err);
        follow(a, false);
        return false;
    }
    if (is_on_lost_device(a))
        return false;
    judge_success(a);
    follow(a, true);
    return true;
}
