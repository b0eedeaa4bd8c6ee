/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

/* Steps that advance time, change budgets, and lose devices. */

#define BIT(p) (1u << (p))

void step_clock(struct dice *d)
{
    unsigned p = world_device(d), which = roll(d, 5), n = 1 + roll(d, 6);
    ferry_queue *q = run.place[p].queue[1];
    void *queue = NULL;
    int err = 0;

    if (p == HOST)
        return;
    tell("time %u passes on place %u", which, p);
    if (which == 0 && run.place[p].sim)
        run.control->step(run.place[p].sim, n);
    else if (which == 1 && run.place[p].sim && q &&
             !ferry_queue_native(q, "sim_queue", &queue, sizeof(queue)))
        run.control->step_queue(run.place[p].sim, queue, n);
    else if (which == 2)
        err = ferry_device_synchronize(run.place[p].dev);
    else if (which == 3)
        err = ferry_queue_synchronize(run.place[p].queue[0]);
    else
        world_run_all();
    if (err && !world_has(WORLD_LATE)) /* which reported an injected failure */
        wrong("waiting for place %u: %s", p, ferry_last_error());
}

void step_check_kernels(struct dice *d)
{
    (void)d;
    tell("waiting for all kernels");
    kernels_check();
}

void step_queue(struct dice *d)
{
    unsigned p = world_device(d);

    if (p == HOST || !run.place[p].queue[1])
        return;
    tell("another queue for place %u", p);
    ferry_queue_destroy(run.place[p].queue[1]);
    run.place[p].queue[1] = NULL;
    if (ferry_queue_create(run.place[p].dev, &run.place[p].queue[1]))
        wrong("cannot create a queue: %s", ferry_last_error());
}

void step_budget(struct dice *d)
{
    static const uint64_t budgets[] = { 0, 256, 1024, 4096, 40000 };
    unsigned p = world_device(d), which = roll(d, 5);

    if (p == HOST)
        return;
    tell("a budget of %u bytes on place %u", (unsigned)budgets[which], p);
    if (ferry_device_set_budget(run.place[p].dev, budgets[which]))
        wrong("set_budget: %s", ferry_last_error());
    if (one_in(d, 4) && ferry_device_trim(run.place[p].dev) && !world_has(WORLD_LATE))
        wrong("trim: %s", ferry_last_error());
}

/* ---- remaining contents after failed work ---------------------------------------------------- */

/* Reads once; returns the state of the contents. */
static int try_read(struct obj *o, unsigned half, unsigned place)
{
    ferry_ref at = { NULL, 0 };
    int err = ferry_memory_access(memory_of(o, half), run.place[place].dev, FERRY_READ, NULL, &at);

    world_run_all();
    return err;
}

/*
 * Reads each place twice: a failure is reported at the first attempt; at the second the contents
 * are valid, or they are lost permanently.
 */
void resolve(struct obj *o, unsigned half)
{
    struct store *s = o->half[half].store;
    bool lost = false, tail;

    tell("    remaining contents of %s of blob %d", half ? "diff" : "data", (int)(o - run.obj));
    world_run_all();
    for (unsigned p = 0; p < run.places && !run.failed; p++) {
        int err;

        if (run.place[p].lost)
            continue;
        err = try_read(o, half, p);
        if (err)
            err = try_read(o, half, p);
        if (err && err != FERRY_ELOST && !(err == FERRY_ENOMEM && world_has(WORLD_BUDGETS)))
            wrong("a second read at place %u: %s", p, ferry_last_error());
        if (err == FERRY_ELOST && !s->may_be_lost)
            wrong("contents that are valid elsewhere are lost at place %u: %s", p,
                  ferry_last_error());
        if (lost && err != FERRY_ELOST)
            wrong("lost contents are valid again at place %u", p);
        lost |= err == FERRY_ELOST;
    }
    tail = s->tail_may_be_lost && store_reach(s, run.obj) < s->room;
    s->state = tail ? SHAKY : SAFE;
    s->may_be_lost = s->state == SHAKY;
    if (lost)
        store_lost(s, run.obj);
    s->failed = false;
}

void step_resolve(struct dice *d)
{
    unsigned first = roll(d, OBJECTS);

    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct obj *o = &run.obj[(first + i) % OBJECTS];

            if (!o->blob || !o->half[k].store || o->half[k].store->state != SHAKY)
                continue;
            resolve(o, k);
            return;
        }
}

/* ---- losses --------------------------------------------------------------------------------- */

/* Whether all elements that the blobs can reach may be zeros that were never written. */
static bool may_be_nothing(const struct store *s)
{
    for (int64_t i = 0; i < store_reach(s, run.obj); i++)
        if (s->doubt[i] == SURE)
            return false;
    return true;
}

/* Copies that were still being made from the device may be lost as well. */
static void lose_store(struct obj *o, unsigned half, unsigned lost, bool quiet)
{
    struct store *s = o->half[half].store;
    unsigned v = valid_at(o, half), left = v;

    for (unsigned p = 0; p < run.places; p++)
        if (run.place[p].lost)
            left &= ~BIT(p);
    /* elements beyond the reach of all blobs may have been valid only there */
    bool whole = store_reach(s, run.obj) == s->room;

    if (!(v & BIT(lost)) && quiet)
        return;
    if (!whole) {
        store_written(s, run.obj);
        s->tail_may_be_lost = true;
    }
    if (v && !left && s->state == SAFE && !may_be_nothing(s)) {
        s->state = LOST;
    } else if (v && s->state != LOST && (!quiet || !whole || !left)) {
        s->state = SHAKY;
        s->may_be_lost = true;
    } else if (v && !left) {
        s->may_be_lost = true;
    }
}

/* Completes all work and lets every waiting call report it, before a device is lost. */
static void settle_all(void)
{
    ferry_ref at;

    world_run_all();
    for (int i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++)
            for (unsigned p = 0; p < run.places; p++) {
                struct obj *o = &run.obj[i];

                if (o->blob && o->half[k].store && !run.place[p].lost && (valid_at(o, k) & BIT(p)))
                    (void)ferry_memory_access(memory_of(o, k), run.place[p].dev, FERRY_READ, NULL,
                                              &at);
            }
    world_run_all();
}

void step_lose(struct dice *d)
{
    unsigned p = world_device(d);
    bool quiet = one_in(d, 2), seen[OBJECTS][2] = { { false } };

    if (p == HOST || !run.place[p].sim || run.step < 100)
        return;
    tell("place %u is lost%s", p, quiet ? ", all work being done" : "");
    kernels_check();
    if (quiet)
        settle_all();
    run.control->lose(run.place[p].sim);
    run.place[p].lost = run.lost = true;
    kernels_forget(p);
    for (int i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct obj *o = &run.obj[i];
            bool known = !o->blob || !o->half[k].store || seen[i][k];

            if (known)
                continue;
            for (int j = 0; j < OBJECTS; j++)
                for (unsigned l = 0; l < 2; l++)
                    seen[j][l] |= run.obj[j].half[l].store == o->half[k].store;
            lose_store(o, k, p, quiet);
        }
}
