/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <time.h>

/*
 * Calls that have to come back while the device is at work. It is kept busy for a while that is
 * measured, and a call has blocked if it took most of that while, however often it is tried: on a
 * machine with other work to do any call may take long once.
 */

#define BYTES       (UINT64_C(4) << 20)
#define BUSY        0.02 /* seconds */
#define MOST_COPIES 512
#define TRIES       5

struct work {
    void *queue, *other;
    void *a, *b;
    int copies; /* that keep the queue busy long enough */
};

typedef void (*call_fn)(const struct work *w, void *event);

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Gives the queue its work, and makes the call: how long that took, of how long it all took. */
static double share_of(const struct work *w, call_fn call, double *out_all)
{
    double begin, called;
    void *event = NULL;

    for (int i = 0; i < w->copies; i++)
        kit_ok(kit.ops.memcpy(kit.dev, w->queue, FERRY_MEMCPY_D2D,
                              (ferry_ref){ i % 2 ? w->a : w->b, 0 },
                              (ferry_cref){ i % 2 ? w->b : w->a, 0 }, BYTES),
               "memcpy D2D");
    kit_ok(kit.ops.event_record(kit.dev, w->queue, &event), "event_record");
    begin = now();
    call(w, event);
    called = now();
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    *out_all = now() - begin;
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
    kit_wait(w->other);
    return (called - begin) / *out_all;
}

static void nothing(const struct work *w, void *event)
{
    (void)w;
    (void)event;
}

static void query(const struct work *w, void *event)
{
    int answer = kit.ops.event_query(kit.dev, event);

    (void)w;
    if (answer < 0)
        kit_ok(answer, "event_query");
}

static void wait(const struct work *w, void *event)
{
    kit_ok(kit.ops.queue_wait(kit.dev, w->other, event), "queue_wait");
}

/* False where the device is too fast, or copies when it is told to: then nothing can be seen. */
static bool find_work(struct work *w)
{
    double all = 0;

    for (w->copies = 4; w->copies <= MOST_COPIES; w->copies *= 2) {
        share_of(w, nothing, &all);
        if (all >= BUSY)
            return true;
    }
    return false;
}

static void comes_back(const struct work *w, call_fn call)
{
    double all, share;

    for (int i = 0; i < TRIES; i++) {
        share = share_of(w, call, &all);
        if (all < BUSY / 4 || share < 0.5)
            return;
    }
    kit_fail("it came back after %.0f ms, when the work before the event was done: it blocks",
             all * 1e3);
}

void kit_calls_come_back(void *queue, void *other)
{
    struct work w = { .queue = queue, .other = other };

    kit_case("copies that keep a queue busy");
    w.a = kit_alloc(BYTES);
    w.b = kit_alloc(BYTES);
    if (find_work(&w)) {
        kit_case("event_query behind %d copies of 4 MiB", w.copies);
        comes_back(&w, query);
        kit_case("queue_wait behind %d copies of 4 MiB", w.copies);
        comes_back(&w, wait);
    }
    kit_free(w.a);
    kit_free(w.b);
}
