/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Several threads only allocate and free, as often as time permits. If there are several
 * processors, a counter that is changed without a lock is then probably wrong. If a thread can be
 * stopped after each of its instructions, the group does that first, which finds the fault
 * reliably.
 */

enum { THREADS = 4, BYTES = 64, LOOK = 64 /* calls per check of the time */, STEPPED = 20 };

#define SECONDS      0.2
#define MOST_SECONDS 0.9
#define SEEN_SECONDS 0.1   /* after all changes have been seen */
#define MET          20000 /* the required number of switches between threads */

typedef void (*once_fn)(unsigned time);

static pthread_barrier_t together;
static bool seen;        /* each change was seen, and is safe */
static const void *last; /* the thread that ran last */
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

/* Sometimes waits for the event, so that the number of pending events is small. */
static void event(unsigned time)
{
    void *handle = NULL;

    kit_ok(kit.ops.event_record(kit.dev, NULL, &handle), "event_record");
    if (time % LOOK == 0)
        kit_ok(kit.ops.event_synchronize(kit.dev, handle), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, handle), "event_destroy");
}

/*
 * Whether enough changes were seen: on a busy machine the threads seldom run at the same time, so
 * the loop runs longer.
 */
static bool is_enough(double begin)
{
    if (seen)
        return now() > begin + SEEN_SECONDS;
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
            kit_fail("the check itself cannot start a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

static void counted(const char *what, once_fn once)
{
    ferry_plugin_counters before, after;

    kit_case("%d threads, only %s", THREADS, what);
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

/* ---- one step at a time --------------------------------------------------------------------- */

static void *queues[2], *blocks[2];
static unsigned char host[2][BYTES];

static void one_block(void)
{
    block(1);
}

static void one_event(void)
{
    event(1);
}

static void one_pinned(void)
{
    uint32_t flags = 0;
    void *p = NULL;

    kit_ok(kit.ops.host_alloc(kit.dev, BYTES, 0, &p, &flags), "host_alloc");
    kit_ok(kit.ops.host_free(kit.dev, p), "host_free");
}

static void copy_on(int i)
{
    kit_ok(kit.ops.memcpy(kit.dev, queues[i], FERRY_MEMCPY_H2D, (ferry_ref){ blocks[i], 0 },
                          (ferry_cref){ host[i], 0 }, BYTES),
           "memcpy");
}

static void one_copy(void)
{
    copy_on(0);
}

static void another_copy(void)
{
    copy_on(1);
}

static bool step_through(const char *what, void (*once)(void), void (*another)(void))
{
    kit_case("%s, stopped after each instruction", what);
    return kit_is_counted_safely(once, another);
}

/*
 * Runs in a process of its own, because an entry that does not survive the signals, or never
 * returns, ends it.
 */
static void step_and_leave(void)
{
    ferry_plugin_counters counts;
    bool all;

    alarm(STEPPED);
    kit_open();
    if (!kit_counters(&counts))
        _exit(1);
    all = step_through("alloc and free", one_block, one_block);
    if (!kit_synchronous())
        all &= step_through("event_record and event_destroy", one_event, one_event);
    if (kit.ops.host_alloc)
        step_through("host_alloc and host_free", one_pinned, one_pinned);
    for (int i = 0; i < 2 && kit.ops.queue_create; i++) {
        blocks[i] = kit_alloc(BYTES);
        kit_ok(kit.ops.queue_create(kit.dev, 0, &queues[i]), "queue_create");
    }
    if (kit.ops.queue_create)
        step_through("memcpy, on two queues", one_copy, another_copy);
    _exit(all ? 0 : 1);
}

void kit_counts_are_stepped_through(void)
{
    int status = kit_program(step_and_leave);

    seen = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void kit_counts_are_exact(void)
{
    counted("alloc and free", block);
    if (!kit_synchronous())
        counted("event_record and event_destroy", event);
}
