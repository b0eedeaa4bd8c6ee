/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <time.h>

/*
 * Calls while the device is busy: those that must return, and those that must wait. The device is
 * kept busy for a measured time. A call has blocked if it took most of that time at every attempt,
 * because on a busy machine any single call may take long. If the device cannot be kept busy,
 * blocking cannot be observed, and the report says so.
 */

#define LEAST_BYTES (UINT64_C(4) << 20)
#define MOST_BYTES  (UINT64_C(256) << 20)
#define BUSY        0.02 /* seconds */
#define PATIENCE    0.5  /* maximum seconds in which the work is submitted */
#define MOST_COPIES 512
#define TRIES       5
#define QUERIES     8 /* fewer answers than this may differ */
#define BYTES       4096

struct work {
    void *queue, *other;
    void *a, *b;
    uint64_t bytes;
    int copies; /* that keep the queue busy long enough */
};

typedef void (*call_fn)(const struct work *w, void *event);

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Submits the work, and records an event after it. */
static void *begin_work(const struct work *w)
{
    void *event = NULL;

    for (int i = 0; i < w->copies; i++)
        kit_ok(kit.ops.memcpy(kit.dev, w->queue, FERRY_MEMCPY_D2D,
                              (ferry_ref){ i % 2 ? w->a : w->b, 0 },
                              (ferry_cref){ i % 2 ? w->b : w->a, 0 }, w->bytes),
               "memcpy D2D");
    kit_ok(kit.ops.event_record(kit.dev, w->queue, &event), "event_record");
    return event;
}

static void end_work(const struct work *w, void *event)
{
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
    kit_wait(w->other);
}

/* The call's share of the time of the work. */
static double share_of(const struct work *w, call_fn call, double *out_all)
{
    void *event = begin_work(w);
    double begin = now(), called;

    call(w, event);
    called = now();
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    *out_all = now() - begin;
    end_work(w, event);
    return (called - begin) / *out_all;
}

/* ---- amount of work ------------------------------------------------------------------------- */

static void *try_alloc(uint64_t bytes)
{
    uint32_t flags = 0;
    void *handle = NULL;

    if ((kit.properties.max_alloc && bytes > kit.properties.max_alloc) ||
        kit.ops.alloc(kit.dev, NULL, bytes, 0, &handle, &flags) != 0)
        return NULL;
    if (kit_is(FERRY_DEVICE_ORDERED_ALLOC))
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    return handle;
}

static void free_blocks(struct work *w)
{
    if (w->a)
        kit_free(w->a);
    if (w->b)
        kit_free(w->b);
    w->a = w->b = NULL;
}

static bool alloc_blocks(struct work *w, uint64_t bytes)
{
    w->bytes = bytes;
    w->a = try_alloc(bytes);
    w->b = w->a ? try_alloc(bytes) : NULL;
    if (!w->b)
        free_blocks(w);
    return w->b != NULL;
}

/*
 * Doubles the number of copies until they take long enough; true if they do. *out_slow: submitting
 * them takes too long.
 */
static bool find_copies(struct work *w, bool *out_slow)
{
    for (w->copies = 4; w->copies <= MOST_COPIES && !*out_slow; w->copies *= 2) {
        double begin = now(), given;
        void *event = begin_work(w);

        given = now();
        kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
        if (now() - given >= BUSY) {
            end_work(w, event);
            return true;
        }
        end_work(w, event);
        *out_slow = given - begin > PATIENCE;
    }
    return false;
}

/* Tries more and larger copies; false if the device is too fast, or copies synchronously. */
static bool find_work(struct work *w)
{
    bool slow = false;

    kit_case("copies that keep a queue busy");
    for (uint64_t bytes = LEAST_BYTES; bytes <= MOST_BYTES && !slow; bytes *= 4) {
        if (!alloc_blocks(w, bytes))
            return false;
        if (find_copies(w, &slow))
            return true;
        free_blocks(w);
    }
    return false;
}

/* ---- calls that return at once -------------------------------------------------------------- */

static void query(const struct work *w, void *event)
{
    (void)w;
    for (int i = 0; i < QUERIES; i++) {
        int answer = kit.ops.event_query(kit.dev, event);

        if (answer < 0)
            kit_ok(answer, "event_query");
    }
}

static void wait(const struct work *w, void *event)
{
    kit_ok(kit.ops.queue_wait(kit.dev, w->other, event), "queue_wait");
}

static void comes_back(const struct work *w, const char *name, call_fn call)
{
    double all = 0, share;
    bool seen = false;

    kit_case("%s after %d copies of %u MiB", name, w->copies, (unsigned)(w->bytes >> 20));
    for (int i = 0; i < TRIES; i++) {
        share = share_of(w, call, &all);
        if (all >= BUSY / 4 && share < 0.5)
            return;
        seen |= all >= BUSY / 4;
    }
    if (seen)
        kit_fail("it returned after %.0f ms, when the work before the event was done: it blocks",
                 all * 1e3);
    kit_skipped("the copies were done before the call");
}

void kit_calls_come_back(void *queue, void *other)
{
    struct work w = { .queue = queue, .other = other };

    if (!find_work(&w)) {
        kit_case("event_query and queue_wait with a busy queue");
        kit_skipped("the device was never busy for %.0f ms; whether they block cannot be seen",
                    BUSY * 1e3);
        return;
    }
    comes_back(&w, "event_query", query);
    comes_back(&w, queue && !other ? "queue_wait of the default queue" : "queue_wait", wait);
    free_blocks(&w);
}

/* ---- queues that wait ----------------------------------------------------------------------- */

static const char *name_of(const void *queue)
{
    return queue ? "a queue of queue_create" : "the default queue";
}

/* The busy queue writes last what the other queue reads: `from` to `to`, and back. */
static void write_and_read(const struct work *w, void *from, void *to)
{
    unsigned char back[BYTES] = { 0 };
    void *busy = begin_work(w), *written = NULL;

    kit_ok(kit.ops.memset(kit.dev, w->queue, (ferry_ref){ from, 0 }, 0x5a, BYTES), "memset");
    kit_ok(kit.ops.event_record(kit.dev, w->queue, &written), "event_record");
    kit_ok(kit.ops.queue_wait(kit.dev, w->other, written), "queue_wait");
    kit_ok(kit.ops.memcpy(kit.dev, w->other, FERRY_MEMCPY_D2D, (ferry_ref){ to, 0 },
                          (ferry_cref){ from, 0 }, BYTES),
           "memcpy D2D");
    kit_ok(kit.ops.memcpy(kit.dev, w->other, FERRY_MEMCPY_D2H, (ferry_ref){ back, 0 },
                          (ferry_cref){ to, 0 }, BYTES),
           "memcpy D2H");
    kit_wait(w->other);
    kit_ok(kit.ops.event_destroy(kit.dev, written), "event_destroy"); /* which may wait for it */
    end_work(w, busy);
    for (int i = 0; i < BYTES; i++)
        if (back[i] != 0x5a)
            kit_fail("byte %d is 0x%02x, should be 0x5a: it did not wait for the event", i,
                     back[i]);
}

void kit_queue_waits(void *busy, void *waiting)
{
    struct work w = { .queue = busy, .other = waiting };
    void *from, *to;

    if (!find_work(&w)) {
        kit_case("queue_wait: %s waits for %s", name_of(waiting), name_of(busy));
        kit_skipped("the device was never busy for %.0f ms", BUSY * 1e3);
        return;
    }
    kit_case("queue_wait: %s waits for %s, after %d copies of %u MiB", name_of(waiting),
             name_of(busy), w.copies, (unsigned)(w.bytes >> 20));
    from = kit_alloc(BYTES);
    to = kit_alloc(BYTES);
    kit_ok(kit.ops.memset(kit.dev, busy, (ferry_ref){ from, 0 }, 0x11, BYTES), "memset");
    kit_wait(busy);
    write_and_read(&w, from, to);
    kit_free(from);
    kit_free(to);
    free_blocks(&w);
}

/* ---- calls that wait ------------------------------------------------------------------------ */

static void expect_done(const struct work *w, const char *name, int code, void *event)
{
    kit_ok(code, name);
    code = kit.ops.event_query(kit.dev, event);
    if (code < 0)
        kit_ok(code, "event_query");
    if (code == 0)
        kit_fail("it returned although an event of the busy queue is not done: it waits for "
                 "another queue");
    end_work(w, event);
}

void kit_queue_is_waited_for(void *queue)
{
    struct work w = { .queue = queue };
    void *event;

    if (!find_work(&w)) {
        kit_case("synchronize while a queue of queue_create is busy");
        kit_skipped("the device was never busy for %.0f ms", BUSY * 1e3);
        return;
    }
    kit_case("synchronize after %d copies of %u MiB on a queue of queue_create, the default queue "
             "being idle",
             w.copies, (unsigned)(w.bytes >> 20));
    event = begin_work(&w);
    expect_done(&w, "synchronize", kit.ops.synchronize(kit.dev), event);
    if (kit.ops.queue_synchronize) {
        kit_case("queue_synchronize after %d copies of %u MiB", w.copies,
                 (unsigned)(w.bytes >> 20));
        event = begin_work(&w);
        expect_done(&w, "queue_synchronize", kit.ops.queue_synchronize(kit.dev, queue), event);
    }
    free_blocks(&w);
}
