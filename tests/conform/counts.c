/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

/*
 * Threads that do nothing but take and give back, as often as there is time for: a count that is
 * changed with no lock is off by some then, where there is more than one processor.
 */

enum { THREADS = 4, BYTES = 64, LOOK = 64 /* times, between looks at the clock */ };

#define SECONDS      0.2
#define MOST_SECONDS 0.9
#define MET          20000 /* times that another thread had been at work just before */

typedef void (*once_fn)(unsigned time);

static pthread_barrier_t together;
static const void *last; /* the thread that was at work last */
static unsigned met;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void block(unsigned time)
{
    uint32_t flags = 0;
    void *handle = NULL;

    (void)time;
    kit_ok(kit.ops.alloc(kit.dev, NULL, BYTES, 0, &handle, &flags), "alloc");
    kit_ok(kit.ops.free(kit.dev, NULL, handle), "free");
}

/* Now and then it is waited for, so that there are never many. */
static void event(unsigned time)
{
    void *handle = NULL;

    kit_ok(kit.ops.event_record(kit.dev, NULL, &handle), "event_record");
    if (time % LOOK == 0)
        kit_ok(kit.ops.event_synchronize(kit.dev, handle), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, handle), "event_destroy");
}

/* On a machine with other work to do the threads seldom run at the same time: longer then. */
static bool is_enough(double begin)
{
    return now() > begin + (__atomic_load_n(&met, __ATOMIC_RELAXED) < MET ? MOST_SECONDS : SECONDS);
}

static void *work(void *arg)
{
    once_fn once = *(once_fn *)arg;
    double begin;

    pthread_barrier_wait(&together);
    begin = now();
    for (unsigned i = 0; i % LOOK || !is_enough(begin); i++) {
        once(i);
        if (__atomic_exchange_n(&last, &begin, __ATOMIC_RELAXED) != &begin)
            __atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void run(once_fn once)
{
    pthread_t threads[THREADS];

    met = 0;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &once) != 0)
            kit_fail("the check itself can make no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

static void counted(const char *what, once_fn once)
{
    ferry_plugin_counters before, after;

    kit_case("%d threads, %s and no more", THREADS, what);
    if (!kit_counters(&before))
        return;
    run(once);
    kit_counters(&after);
    if (after.live_blocks != before.live_blocks || after.live_bytes != before.live_bytes ||
        after.live_events != before.live_events)
        kit_fail("%" PRId64 " blocks, %" PRId64 " bytes and %" PRId64
                 " events more are live than before: they are not counted safely",
                 (int64_t)(after.live_blocks - before.live_blocks),
                 (int64_t)(after.live_bytes - before.live_bytes),
                 (int64_t)(after.live_events - before.live_events));
}

void kit_counts_are_exact(void)
{
    counted("alloc and free", block);
    if (!kit_synchronous())
        counted("event_record and event_destroy", event);
}
