/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <pthread.h>

/*
 * Steps of several threads: readers of the same blobs, and workers, each with blobs of its own.
 * Blobs that share a store are related.
 */

#define THREADS 3
#define ACTS    6

struct worker {
    pthread_t thread;
    struct dice dice;
    unsigned number;
};

static void start_all(void *(*body)(void *), struct dice *d)
{
    struct worker workers[THREADS];
    unsigned started = 0;

    run.threaded = true;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].dice = dice_for(run.seed ^ roll(d, 1u << 30), i);
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, body, &workers[i]) != 0)
            break;
        started++;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    run.threaded = false;
}

/* ---- readers -------------------------------------------------------------------------------- */

static void read_once(struct obj *o, unsigned half, struct dice *d)
{
    unsigned place = world_place(d);
    struct act a = act_on(o, half, FERRY_READ, place);
    ferry_ref at;
    double sum;

    switch (roll(d, 4)) {
    case 0:
        (void)read_host(o, half, d);
        break;
    case 1:
        act_begin(&a, d);
        if (act_end(&a, ferry_memory_access(memory_of(o, half), run.place[place].dev, FERRY_READ,
                                            NULL, &at)) &&
            place != HOST) {
            at.offset += (uint64_t)(o->half[half].offset * element_size(o));
            kernel_reads(place, run.place[place].queue[0], at, o, half);
        }
        break;
    case 2:
        act_begin(&a, d);
        (void)act_end(&a, ferry_memory_prefetch(memory_of(o, half), run.place[place].dev, NULL));
        break;
    default:
        a.place = NOWHERE;
        a.allowed = is_float(o->dtype) ? 0 : FERRY_EUNSUPPORTED;
        act_begin(&a, d);
        (void)act_end(&a, half ? ferry_blob_asum_diff(o->blob, &sum)
                               : ferry_blob_asum_data(o->blob, &sum));
        break;
    }
}

static void *reader(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < ACTS && !run.failed; i++) {
        struct obj *o = some_obj(&w->dice);
        unsigned half = roll(&w->dice, 2);

        if (o && o->half[half].store && o->half[half].store->state != SHAKY)
            read_once(o, half, &w->dice);
    }
    return NULL;
}

/* Records reads, as follow() does for a single thread; they may not have happened. */
static void note_reads(void)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++) {
            const struct obj *o = &run.obj[i];

            if (o->blob && o->count == 0 && o->half[k].store && o->half[k].store->state == LOST)
                store_read_empty(o->half[k].store);
        }
}

void step_readers(struct dice *d)
{
    tell("%d threads read", THREADS);
    start_all(reader, d);
    note_reads();
}

/* ---- workers -------------------------------------------------------------------------------- */

static unsigned group[OBJECTS];

/* Blobs that share a store form one group, and a group belongs to one thread. */
static void find_groups(void)
{
    bool again = true;

    for (unsigned i = 0; i < OBJECTS; i++)
        group[i] = i;
    while (again) {
        again = false;
        for (unsigned i = 0; i < OBJECTS; i++)
            for (unsigned j = 0; j < OBJECTS; j++)
                for (unsigned k = 0; k < 4; k++) {
                    const struct store *s = run.obj[i].half[k / 2].store;

                    if (run.obj[i].blob && run.obj[j].blob && s &&
                        s == run.obj[j].half[k % 2].store && group[j] < group[i]) {
                        group[i] = group[j];
                        again = true;
                    }
                }
    }
}

static void write_once(struct obj *o, unsigned half, struct dice *d)
{
    unsigned place = world_place(d);
    double value = (double)roll(d, LARGEST);
    struct act a = act_on(o, half, FERRY_READ | FERRY_WRITE, NOWHERE);
    ferry_ref at;

    act_begin(&a, d);
    if (one_in(d, 3)) {
        if (!act_end(&a, half ? ferry_blob_fill_diff(o->blob, value)
                              : ferry_blob_fill_data(o->blob, value)))
            return;
        for (int64_t i = 0; i < o->count; i++)
            set_value(o, half, i, value);
        return;
    }
    a.place = place;
    if (!act_end(&a, ferry_memory_access(memory_of(o, half), run.place[place].dev,
                                         FERRY_READ | FERRY_WRITE, NULL, &at)))
        return;
    at.offset += (uint64_t)(o->half[half].offset * element_size(o));
    if (place != HOST) {
        kernel_changes(run.place[place].queue[0], at, o, half, d);
        return;
    }
    for (int64_t i = 0; i < o->count; i++) {
        element_set(o->dtype, (char *)at.handle + at.offset, i, value);
        set_value(o, half, i, value);
    }
}

static void *worker(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < 2 * ACTS && !run.failed; i++) {
        struct obj *o = some_obj(&w->dice);
        unsigned half = roll(&w->dice, 2);

        if (world_has(WORLD_BUDGETS) && one_in(&w->dice, 6))
            step_budget(&w->dice);
        if (!o || group[o - run.obj] % THREADS != w->number || !o->half[half].store ||
            o->half[half].store->state != SAFE)
            continue;
        if (one_in(&w->dice, 2))
            write_once(o, half, &w->dice);
        else
            read_once(o, half, &w->dice);
        if (world_has(WORLD_BUDGETS))
            (void)ferry_memory_allow_eviction(memory_of(o, half));
    }
    return NULL;
}

/* Records the writes that follow() would have recorded for a single thread. */
static void note_writes(void)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++)
            if (run.obj[i].blob && run.obj[i].half[k].store) {
                store_written(run.obj[i].half[k].store, run.obj);
                run.obj[i].half[k].store->idle = world_has(WORLD_BUDGETS);
            }
}

void step_workers(struct dice *d)
{
    tell("%d threads work", THREADS);
    find_groups();
    start_all(worker, d);
    note_writes();
}
