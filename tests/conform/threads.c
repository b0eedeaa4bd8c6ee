/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Concurrent calls, as ferry makes them: those of one queue one at a time, unless the device is
 * FERRY_DEVICE_CONCURRENT; alloc, free, host_alloc, host_free and events without a lock.
 */

enum { THREADS = 4, ROUNDS = 600, LIVE = 12 };

static bool several; /* whether there are several threads */
static pthread_mutex_t default_queue = PTHREAD_MUTEX_INITIALIZER;

struct worker {
    pthread_t thread;
    unsigned number;
    void *queue;
    bool alone; /* no other thread uses the queue: no lock is needed */
};

static void lock(struct worker *w)
{
    if (!w->alone)
        pthread_mutex_lock(&default_queue);
}

static void unlock(struct worker *w)
{
    if (!w->alone)
        pthread_mutex_unlock(&default_queue);
}

static void wait_for(struct worker *w)
{
    void *event = NULL;

    if (kit_synchronous())
        return;
    kit_ok(kit.ops.event_record(kit.dev, w->queue, &event), "event_record");
    if (kit.ops.event_query(kit.dev, event) < 0)
        kit_fail("event_query failed: %s", kit_told());
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
}

static void transfer(struct worker *w, uint32_t kind, ferry_ref dst, ferry_cref src, uint64_t bytes)
{
    lock(w);
    kit_ok(kit.ops.memcpy(kit.dev, w->queue, kind, dst, src, bytes), "memcpy");
    unlock(w);
}

/* y = 2y + y of small integers, which every device computes exactly. */
static void compute(struct worker *w, void *block, int n)
{
    lock(w);
    kit_ok(kit.ops.axpy(kit.dev, w->queue, FERRY_F32, n, 2, (ferry_cref){ block, 0 },
                        (ferry_ref){ block, 0 }),
           "axpy");
    unlock(w);
}

static void round_trip(struct worker *w, void *block, int n, int round)
{
    float sent[2000], back[2000];
    uint64_t bytes = (uint64_t)n * sizeof(*sent);

    for (int i = 0; i < n; i++)
        sent[i] = (float)((int)w->number * 1000 + round + i);
    memset(back, 0, sizeof(back));
    transfer(w, FERRY_MEMCPY_H2D, (ferry_ref){ block, 0 }, (ferry_cref){ sent, 0 }, bytes);
    compute(w, block, n);
    transfer(w, FERRY_MEMCPY_D2H, (ferry_ref){ back, 0 }, (ferry_cref){ block, 0 }, bytes);
    wait_for(w);
    for (int i = 0; i < n; i++)
        if (back[i] != 3 * sent[i])
            kit_fail("thread %u: element %d of %d is %g, should be %g: concurrent calls interfere",
                     w->number, i, n, (double)back[i], 3.0 * (double)sent[i]);
}

/* Each thread keeps some blocks alive, so that a block that is returned twice is detected. */
struct kept {
    void *handle;
    uint64_t bytes;
    unsigned char byte;
};

static void keep(struct worker *w, struct kept *k, int round)
{
    uint32_t flags = 0;

    k->bytes = 64 + (uint64_t)(w->number * 37 + (unsigned)round * 101) % 4000;
    k->byte = (unsigned char)(w->number * 60 + (unsigned)round % 60);
    kit_ok(kit.ops.alloc(kit.dev, w->queue, k->bytes, 0, &k->handle, &flags), "alloc");
    if (!k->handle)
        kit_fail("alloc returned 0 and a NULL handle");
    lock(w);
    kit_ok(kit.ops.memset(kit.dev, w->queue, (ferry_ref){ k->handle, 0 }, k->byte, k->bytes),
           "memset");
    unlock(w);
}

static void release_kept(struct worker *w, struct kept *k)
{
    unsigned char back[4096];

    if (!k->handle)
        return;
    memset(back, (unsigned char)~k->byte, sizeof(back));
    transfer(w, FERRY_MEMCPY_D2H, (ferry_ref){ back, 0 }, (ferry_cref){ k->handle, 0 }, k->bytes);
    wait_for(w);
    for (uint64_t i = 0; i < k->bytes; i++)
        if (back[i] != k->byte)
            kit_fail("thread %u: byte %" PRIu64
                     " of a block of its own is 0x%02x, should be 0x%02x%s",
                     w->number, i, back[i], k->byte,
                     several ? ": alloc and free are not safe from several threads" : "");
    kit_ok(kit.ops.free(kit.dev, w->queue, k->handle), "free");
    k->handle = NULL;
}

static void pinned(void)
{
    uint32_t flags = 0;
    void *p = NULL;

    if (!kit.ops.host_alloc)
        return;
    kit_ok(kit.ops.host_alloc(kit.dev, 1000, 0, &p, &flags), "host_alloc");
    memset(p, 1, 1000);
    kit_ok(kit.ops.host_free(kit.dev, p), "host_free");
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct kept kept[LIVE];
    void *block;
    uint32_t flags = 0;

    memset(kept, 0, sizeof(kept));
    kit_ok(kit.ops.alloc(kit.dev, w->queue, 2000 * sizeof(float), 0, &block, &flags), "alloc");
    for (int round = 0; round < ROUNDS; round++) {
        struct kept *k = &kept[round % LIVE];

        release_kept(w, k);
        keep(w, k, round);
        round_trip(w, block, 1 + round * 7 % 2000, round);
        pinned();
    }
    for (int i = 0; i < LIVE; i++)
        release_kept(w, &kept[i]);
    kit_ok(kit.ops.free(kit.dev, w->queue, block), "free");
    kit_scratch_end();
    if (several)
        kit_thread_manners();
    return NULL;
}

/* A failure here has nothing to do with threads. */
static void run_one(void)
{
    struct worker w = { .number = 0, .alone = true };

    kit_case("one thread, before there are more");
    work(&w);
    several = true;
}

static void run(bool own_queues, const char *how)
{
    struct worker workers[THREADS];

    kit_case("%d threads, %s", THREADS, how);
    memset(workers, 0, sizeof(workers));
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].alone = own_queues || kit_is(FERRY_DEVICE_CONCURRENT);
        if (own_queues)
            kit_ok(kit.ops.queue_create(kit.dev, 0, &workers[i].queue), "queue_create");
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            kit_fail("the check itself cannot start a thread");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        if (workers[i].queue)
            kit_ok(kit.ops.queue_destroy(kit.dev, workers[i].queue), "queue_destroy");
}

void group_threads(void)
{
    ferry_plugin_counters before, after;
    bool queues;

    kit_counts_are_stepped_through();
    kit_open();
    queues = kit.ops.queue_create != NULL;
    run_one();
    kit_hammer(false);
    if (queues)
        kit_hammer(true);
    kit_counts_are_exact();
    kit_counters(&before);
    run(false, kit_is(FERRY_DEVICE_CONCURRENT) ? "all on the default queue, without a lock"
                                               : "their work on the default queue one at a time");
    if (queues)
        run(true, "each with a queue of its own, without a lock");
    kit_case("counters after the threads");
    if (kit_counters(&after) &&
        (after.live_blocks != before.live_blocks || after.live_bytes != before.live_bytes ||
         after.live_queues != before.live_queues || after.live_events != before.live_events))
        kit_fail("%" PRIu64 " blocks, %" PRIu64 " bytes, %" PRIu64 " queues, %" PRIu64
                 " events are live, were %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                 ": they are not counted safely",
                 after.live_blocks, after.live_bytes, after.live_queues, after.live_events,
                 before.live_blocks, before.live_bytes, before.live_queues, before.live_events);
    kit_remark("%d threads on one queue%s", THREADS, queues ? ", and on as many" : "");
}
