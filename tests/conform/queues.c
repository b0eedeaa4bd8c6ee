/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Queues and events: order, waits, and completion. */

#define LARGE (UINT64_C(4) << 20)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *queue_create(void)
{
    void *queue = NULL;

    kit_ok(kit.ops.queue_create(kit.dev, 0, &queue), "queue_create");
    if (!queue)
        kit_fail("queue_create returned 0 and a queue of NULL, which means the default one");
    return queue;
}

static void *event_record(void *queue)
{
    void *event = NULL;

    kit_ok(kit.ops.event_record(kit.dev, queue, &event), "event_record");
    return event;
}

static void event_destroy(void *event)
{
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
}

/* Polls like a program that has other work. */
static void poll_event(void *event)
{
    double deadline = now() + 20;
    int done;

    while ((done = kit.ops.event_query(kit.dev, event)) == 0)
        if (now() > deadline)
            kit_fail("event_query returned 0 for 20 s; event_record must flush the queue");
    if (done < 0)
        kit_ok(done, "event_query");
    if (done != 1)
        kit_fail("event_query returned %d, which is neither 0, 1 nor a negative code", done);
}

static void h2d(void *queue, void *to, uint64_t at, const void *from, uint64_t bytes)
{
    kit_ok(kit.ops.memcpy(kit.dev, queue, FERRY_MEMCPY_H2D, (ferry_ref){ to, at },
                          (ferry_cref){ from, 0 }, bytes),
           "memcpy H2D");
}

static void d2h(void *queue, void *to, const void *from, uint64_t at, uint64_t bytes)
{
    kit_ok(kit.ops.memcpy(kit.dev, queue, FERRY_MEMCPY_D2H, (ferry_ref){ to, 0 },
                          (ferry_cref){ from, at }, bytes),
           "memcpy D2H");
}

static void d2d(void *queue, void *to, const void *from, uint64_t bytes)
{
    kit_ok(kit.ops.memcpy(kit.dev, queue, FERRY_MEMCPY_D2D, (ferry_ref){ to, 0 },
                          (ferry_cref){ from, 0 }, bytes),
           "memcpy D2D");
}

static void set(void *queue, void *to, uint32_t byte, uint64_t bytes)
{
    kit_ok(kit.ops.memset(kit.dev, queue, (ferry_ref){ to, 0 }, byte, bytes), "memset");
}

static void expect_all(const unsigned char *bytes, unsigned char value, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (bytes[i] != value)
            kit_fail("byte %" PRIu64 " of %" PRIu64 " is 0x%02x, should be 0x%02x", i, n, bytes[i],
                     value);
}

/* ---- queues --------------------------------------------------------------------------------- */

static void queue_synchronize(void *queue)
{
    if (kit.ops.queue_synchronize)
        kit_ok(kit.ops.queue_synchronize(kit.dev, queue), "queue_synchronize");
    else
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
}

/* A chain in which each step needs the one before it, without a wait between them. */
static void chain(void *queue, const char *which)
{
    enum { N = 100000 };
    float *x = kit_host(N * sizeof(*x)), *y = kit_host(N * sizeof(*y));
    void *a = kit_alloc(N * sizeof(*x)), *b = kit_alloc(N * sizeof(*x));

    for (int round = 0; round < 8; round++) {
        kit_case("%s: memcpy, memset, axpy, memcpy D2D, axpy, memcpy, without a wait between them",
                 which);
        for (int i = 0; i < N; i++)
            x[i] = (float)(i % 1000 + round);
        h2d(queue, a, 0, x, N * sizeof(*x));
        set(queue, b, 0, N * sizeof(*x));
        kit_ok(kit.ops.axpy(kit.dev, queue, FERRY_F32, N, 2, (ferry_cref){ a, 0 },
                            (ferry_ref){ b, 0 }),
               "axpy");
        d2d(queue, a, b, N * sizeof(*x));
        kit_ok(kit.ops.axpy(kit.dev, queue, FERRY_F32, N, 1, (ferry_cref){ a, 0 },
                            (ferry_ref){ b, 0 }),
               "axpy");
        d2h(queue, y, b, 0, N * sizeof(*x));
        queue_synchronize(queue);
        for (int i = 0; i < N; i++)
            if (y[i] != 4 * x[i])
                kit_fail("element %d is %g, should be %g: the work was not done in order", i,
                         (double)y[i], 4.0 * (double)x[i]);
    }
    kit_free(a);
    kit_free(b);
    free(x);
    free(y);
}

/* Work of one queue waits for an event of another; the caller does not wait. */
static void wait_across(void *first, void *second, int round)
{
    unsigned char *host = kit_host(LARGE), *back = kit_host(LARGE);
    void *a = kit_alloc(LARGE), *b = kit_alloc(LARGE);
    void *event;

    kit_case("queue_wait: a queue reads bytes that another wrote, round %d", round);
    memset(host, 0x30 + round, LARGE);
    memset(back, 0, LARGE);
    set(second, b, 0, LARGE);
    set(first, a, 0xff, LARGE);
    h2d(first, a, 0, host, LARGE);
    event = event_record(first);
    kit_ok(kit.ops.queue_wait(kit.dev, second, event), "queue_wait");
    event_destroy(event); /* immediately, as ferry does */
    d2d(second, b, a, LARGE);
    d2h(second, back, b, 0, LARGE);
    kit_wait(second);
    expect_all(back, (unsigned char)(0x30 + round), LARGE);
    kit_wait(first);
    kit_free(a);
    kit_free(b);
    free(host);
    free(back);
}

/* synchronize waits for all queues; queue_synchronize for one. */
static void synchronize_all(void *queues[], int n)
{
    unsigned char *back[4];
    void *blocks[4];

    kit_case("synchronize after work on %d queues", n);
    for (int i = 0; i < n; i++) {
        back[i] = kit_host(LARGE);
        memset(back[i], 0, LARGE);
        blocks[i] = kit_alloc(LARGE);
        set(queues[i], blocks[i], 0x61u + (unsigned)i, LARGE);
        d2h(queues[i], back[i], blocks[i], 0, LARGE);
    }
    kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    for (int i = 0; i < n; i++) {
        kit_case("synchronize after work on %d queues: queue %d", n, i);
        expect_all(back[i], (unsigned char)(0x61 + i), LARGE);
        kit_free(blocks[i]);
        free(back[i]);
    }
}

static void destroy_all(void *queues[], int n)
{
    for (int i = 0; i < n; i++)
        if (queues[i])
            kit_ok(kit.ops.queue_destroy(kit.dev, queues[i]), "queue_destroy");
}

void group_queues(void)
{
    void *queues[4] = { NULL, NULL, NULL, NULL };
    int n = 1;

    kit_open();
    chain(NULL, "the default queue");
    if (!kit.ops.queue_create) {
        kit_remark("the default queue only: no queue_create");
        return;
    }
    for (; n < 4; n++) {
        kit_case("queue_create");
        queues[n] = queue_create();
        chain(queues[n], "a queue of queue_create");
    }
    for (int round = 0; round < 6 && !kit_synchronous(); round++)
        wait_across(queues[round % 4], queues[(round + 1) % 4], round);
    if (!kit_synchronous()) {
        kit_queue_waits(queues[1], NULL);
        kit_queue_waits(NULL, queues[1]);
        kit_queue_waits(queues[1], queues[2]);
        kit_queue_is_waited_for(queues[1]);
    }
    synchronize_all(queues, 4);
    kit_case("queue_destroy");
    destroy_all(queues, 4);
    kit_case("a queue created after others were destroyed");
    queues[1] = queue_create();
    chain(queues[1], "a queue created after others were destroyed");
    destroy_all(queues, 2);
    kit_remark("4 queues%s", kit_synchronous() ? "; synchronous: no event_record" : "");
}

/* ---- events --------------------------------------------------------------------------------- */

/*
 * When the event is reported as done, the host has the bytes, without a further call that could
 * copy them.
 */
static void fetched_when_done(void *queue, bool by_query, int round)
{
    unsigned char *host = kit_host(LARGE), value = (unsigned char)(0x20 + round);
    void *block = kit_alloc(LARGE), *event;

    kit_case("memcpy D2H of 4 MiB, then an event: the host's bytes when %s reports it as done",
             by_query ? "event_query" : "event_synchronize");
    memset(host, 0, LARGE);
    set(queue, block, value, LARGE);
    d2h(queue, host, block, 0, LARGE);
    event = event_record(queue);
    if (by_query)
        poll_event(event);
    else
        kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    for (uint64_t i = 0; i < LARGE; i++)
        if (host[i] != value)
            kit_fail("byte %" PRIu64 " was missing: the event is complete too early", i);
    if (kit.ops.event_query(kit.dev, event) != 1)
        kit_fail("event_query does not return 1 after that");
    event_destroy(event);
    kit_free(block);
    free(host);
}

/*
 * The source of a copy belongs to the program again: bytes that it writes then must not be copied.
 */
static void source_is_free_when_done(void *queue)
{
    unsigned char *host = kit_host(LARGE), *back = kit_host(LARGE);
    void *block = kit_alloc(LARGE), *event;

    kit_case("memcpy H2D of 4 MiB, then an event: the source is overwritten once it is done");
    memset(host, 0x11, LARGE);
    set(queue, block, 0xee, LARGE);
    h2d(queue, block, 0, host, LARGE);
    event = event_record(queue);
    poll_event(event);
    memset(host, 0x99, LARGE);
    d2h(queue, back, block, 0, LARGE);
    kit_wait(queue);
    for (uint64_t i = 0; i < LARGE; i++)
        if (back[i] != 0x11)
            kit_fail("byte %" PRIu64 " is 0x%02x, should be 0x11: the event is complete too early",
                     i, back[i]);
    event_destroy(event);
    kit_free(block);
    free(host);
    free(back);
}

/* After a complete event, another queue may use the results without a further wait. */
static void device_has_it_when_done(void *first, void *second)
{
    enum { N = 1 << 20, ROUNDS = 4 };
    float *ones = kit_host(N * sizeof(*ones)), *back = kit_host(N * sizeof(*back));
    void *x = kit_alloc(N * sizeof(*ones)), *y = kit_alloc(N * sizeof(*ones)), *event;

    kit_case("%d axpy of n = 2^20, then an event: read on another queue once it is done", ROUNDS);
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    h2d(first, x, 0, ones, N * sizeof(*ones));
    set(first, y, 0, N * sizeof(*ones));
    for (int i = 0; i < ROUNDS; i++)
        kit_ok(kit.ops.axpy(kit.dev, first, FERRY_F32, N, 1, (ferry_cref){ x, 0 },
                            (ferry_ref){ y, 0 }),
               "axpy");
    event = event_record(first);
    poll_event(event);
    d2h(second, back, y, 0, N * sizeof(*ones));
    kit_wait(second);
    for (int i = 0; i < N; i++)
        if (back[i] != ROUNDS)
            kit_fail("element %d is %g, should be %d: the event is complete too early", i,
                     (double)back[i], ROUNDS);
    event_destroy(event);
    kit_free(x);
    kit_free(y);
    free(ones);
    free(back);
}

/* The copy must happen without a further call. */
static void completes_without_a_call(void *queue)
{
    enum { BYTES = 4096 };
    unsigned char *host = kit_host(BYTES);
    void *block = kit_alloc(BYTES), *event;
    double deadline = now() + 20;
    const struct timespec pause = { 0, 1000000 };

    kit_case("event_record must flush: memcpy D2H, event_record, and no further call");
    memset(host, 0, BYTES);
    set(queue, block, 0x77, BYTES);
    d2h(queue, host, block, 0, BYTES);
    event = event_record(queue);
    while (__atomic_load_n(&host[BYTES - 1], __ATOMIC_ACQUIRE) != 0x77) {
        if (now() > deadline)
            kit_fail("the bytes are missing after 20 s");
        nanosleep(&pause, NULL);
    }
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    event_destroy(event);
    kit_free(block);
    free(host);
}

/* Many at a time, destroyed in a different order, done or not. */
static void many_events(void *queue)
{
    enum { EVENTS = 300 };
    void *events[EVENTS], *block = kit_alloc(LARGE);
    ferry_plugin_counters before, after;

    kit_case("%d events at a time", EVENTS);
    kit_counters(&before);
    for (int i = 0; i < EVENTS; i++) {
        set(queue, block, (uint32_t)i, 1000);
        events[i] = event_record(queue);
        for (int k = 0; k < i; k++)
            if (events[k] == events[i])
                kit_fail("two live events have the handle %p", events[i]);
    }
    kit_ok(kit.ops.event_synchronize(kit.dev, events[EVENTS - 1]), "event_synchronize");
    for (int i = 0; i < EVENTS; i++)
        if (kit.ops.event_query(kit.dev, events[i]) != 1)
            kit_fail("event %d of %d is not done although the last one is", i, EVENTS);
    for (int i = 0; i < EVENTS; i++)
        event_destroy(events[i * 7 % EVENTS]);
    kit_case("events destroyed before they are done");
    for (int i = 0; i < 20; i++) {
        set(queue, block, (uint32_t)i, LARGE);
        event_destroy(event_record(queue));
    }
    kit_wait(queue);
    kit_free(block);
    if (kit_counters(&after) && after.live_events != before.live_events)
        kit_fail("live_events is %" PRIu64 ", was %" PRIu64 " before", after.live_events,
                 before.live_events);
}

/* An event may outlive its queue, as in ferry, where a memory may wait for it. */
static void outlives_its_queue(void)
{
    void *queue = queue_create(), *block = kit_alloc(LARGE), *event;

    kit_case("an event whose queue has been destroyed");
    set(queue, block, 1, LARGE);
    event = event_record(queue);
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.queue_destroy(kit.dev, queue), "queue_destroy");
    poll_event(event);
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.queue_wait(kit.dev, NULL, event), "queue_wait");
    event_destroy(event);
    kit_wait(NULL);
    kit_free(block);
}

void group_events(void)
{
    void *queue = NULL;

    kit_open();
    if (kit_synchronous())
        kit_not_offered("no event_record: everything is done when an entry returns");
    kit_case("an event of an idle queue");
    kit_wait(NULL);
    if (kit.ops.queue_create)
        queue = queue_create();
    for (int round = 0; round < 10; round++) {
        fetched_when_done(round & 1 ? queue : NULL, (round & 2) != 0, round);
        source_is_free_when_done(round & 1 ? queue : NULL);
    }
    device_has_it_when_done(NULL, queue);
    device_has_it_when_done(queue, NULL);
    completes_without_a_call(NULL);
    completes_without_a_call(queue);
    many_events(queue);
    if (queue)
        outlives_its_queue();
    kit_calls_come_back(NULL, queue);
    if (queue) {
        kit_calls_come_back(queue, NULL);
        kit_ok(kit.ops.queue_destroy(kit.dev, queue), "queue_destroy");
    }
    kit_remark("of the default queue%s", queue ? " and another" : "");
}
