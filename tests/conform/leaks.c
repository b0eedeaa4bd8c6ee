/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <time.h>

/* Everything is freed, according to the plugin's counters and to the system. */

#define BLOCK      (UINT64_C(64) << 10)
#define CYCLES     1000
#define EVENTS     4000
#define QUEUES     20
#define OPENS      4 /* at least; more if time permits */
#define MOST_OPENS 40
#define SECONDS    0.04

/* ---- according to the plugin's counters ----------------------------------------------------- */

static void one_of_everything(void)
{
    struct mirror m;
    void *queue = NULL, *pinned = NULL, *event = NULL;
    uint32_t flags = 0;

    mirror_create(&m, 4000, 1);
    mirror_check(&m);
    if (kit.ops.host_alloc) {
        kit_ok(kit.ops.host_alloc(kit.dev, 1000, 0, &pinned, &flags), "host_alloc");
        kit_ok(kit.ops.host_free(kit.dev, pinned), "host_free");
    }
    if (kit.ops.queue_create)
        kit_ok(kit.ops.queue_create(kit.dev, 0, &queue), "queue_create");
    if (!kit_synchronous()) {
        kit_ok(kit.ops.memset(kit.dev, queue, mirror_ref(&m, 0), 1, 4000), "memset");
        kit_ok(kit.ops.event_record(kit.dev, queue, &event), "event_record");
        kit_ok(kit.ops.queue_wait(kit.dev, NULL, event), "queue_wait");
        kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
        kit_wait(queue);
        kit_wait(NULL);
    }
    if (queue)
        kit_ok(kit.ops.queue_destroy(kit.dev, queue), "queue_destroy");
    mirror_destroy(&m);
}

#define SAME(member)                                                                   \
    do {                                                                               \
        if (after.member != before.member)                                             \
            kit_fail(#member " is %" PRIu64 ", was %" PRIu64 " before: not freed, or " \
                             "not counted",                                            \
                     after.member, before.member);                                     \
    } while (0)

static bool accounts_return(void)
{
    ferry_plugin_counters before, after;

    kit_case("counters");
    if (!kit_counters(&before))
        return false;
    kit_case("counters around alloc, host_alloc, queue_create, event_record and their opposites");
    for (int i = 0; i < 20; i++)
        one_of_everything();
    kit_counters(&after);
    SAME(live_blocks);
    SAME(live_bytes);
    SAME(live_host_blocks);
    SAME(live_imports);
    SAME(live_maps);
    SAME(live_queues);
    SAME(live_events);
    return true;
}

static void copies_are_counted(void)
{
    ferry_plugin_counters before, after;
    struct mirror m;

    kit_case("counters around one copy of 3000 bytes in each direction");
    mirror_create(&m, 8000, 2);
    kit_counters(&before);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, mirror_ref(&m, 0),
                          (ferry_cref){ m.want, 0 }, 3000),
           "memcpy");
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2D, mirror_ref(&m, 4000), mirror_cref(&m, 0),
                          3000),
           "memcpy");
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ m.got, 0 },
                          mirror_cref(&m, 0), 3000),
           "memcpy");
    kit_wait(NULL);
    if (kit_counters(&after) &&
        (after.copies_h2d != before.copies_h2d + 1 || after.copies_d2h != before.copies_d2h + 1 ||
         after.copies_d2d != before.copies_d2d + 1 || after.bytes_h2d != before.bytes_h2d + 3000 ||
         after.bytes_d2h != before.bytes_d2h + 3000 || after.bytes_d2d != before.bytes_d2d + 3000))
        kit_fail("copies and bytes rose by H2D %" PRIu64 " and %" PRIu64 ", D2H %" PRIu64
                 " and %" PRIu64 ", D2D %" PRIu64 " and %" PRIu64,
                 after.copies_h2d - before.copies_h2d, after.bytes_h2d - before.bytes_h2d,
                 after.copies_d2h - before.copies_d2h, after.bytes_d2h - before.bytes_d2h,
                 after.copies_d2d - before.copies_d2d, after.bytes_d2d - before.bytes_d2d);
    mirror_destroy(&m);
}

/* ---- according to the system ---------------------------------------------------------------- */

static uint64_t device_bytes_used(void)
{
    uint64_t available = 0, total = 0;

    /* The memory of other programs on the device would count as well. */
    if (!kit.ops.memory_info || kit_is(FERRY_DEVICE_HOST_MEMORY) || kit_is(FERRY_DEVICE_UNIFIED) ||
        kit.ops.memory_info(kit.dev, &available, &total) != 0)
        return 0;
    return total - available;
}

static void cycle(int times)
{
    for (int i = 0; i < times; i++) {
        void *block = kit_alloc(BLOCK);

        kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ block, 0 }, 1, BLOCK), "memset");
        kit_wait(NULL);
        kit_free(block);
    }
}

static void memory_comes_back(void)
{
    struct kit_footprint before, after;
    uint64_t used, grown;

    kit_case("%d times alloc, memset and free of 64 KiB", CYCLES);
    cycle(20);
    kit_footprint(&before);
    used = device_bytes_used();
    cycle(CYCLES);
    kit_footprint(&after);
    grown = after.resident - before.resident;
    if (!KIT_SANITIZED && after.resident > before.resident && grown > CYCLES * BLOCK / 2)
        kit_fail("the process grew by %" PRIu64 " MiB", grown >> 20);
    grown = device_bytes_used() - used;
    if (device_bytes_used() > used && grown > CYCLES * BLOCK / 2)
        kit_fail("memory_info says that %" PRIu64 " MiB more are in use", grown >> 20);
}

/* Events are small, but each copy has one. */
static void one_event(void)
{
    kit_wait(NULL);
}

static void open_and_close(void)
{
    kit.ops.device_close(kit_open_device(kit.target->device));
}

/* With work, for which the plugin may have allocated something. */
static void open_work_and_close(void)
{
    kit.dev = kit_open_device(kit.target->device);
    cycle(1);
    kit.ops.device_close(kit.dev);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * The number of times that a device is opened in a round: many if that is fast, so that a small
 * leak is visible too. One fast round is sufficient, because on a busy machine any call may take
 * long.
 */
static int opens(void)
{
    double each = SECONDS;

    for (int i = 0; i < OPENS; i++) {
        double begin = now(), took;

        open_work_and_close();
        took = now() - begin;
        each = took < each ? took : each;
    }
    return each * OPENS > SECONDS        ? OPENS
           : each * MOST_OPENS < SECONDS ? MOST_OPENS
                                         : (int)(SECONDS / each);
}

static void create_and_destroy_queue(void)
{
    void *queue = NULL;

    kit_ok(kit.ops.queue_create(kit.dev, 0, &queue), "queue_create");
    kit_ok(kit.ops.queue_destroy(kit.dev, queue), "queue_destroy");
}

/*
 * Threads and files that opening creates must be closed. A vendor's library may keep some the first
 * time.
 */
static void come_and_go(const char *what, void (*both)(void))
{
    enum { TIMES = 12 };
    struct kit_footprint before = { .threads = 0 }, after;

    for (int i = 0; i < TIMES; i++) {
        kit_case("%s, time %d", what, i + 1);
        both();
        if (i == 1)
            kit_footprint(&before);
    }
    kit_footprint(&after);
    if (after.threads - before.threads >= TIMES - 2)
        kit_fail("%d threads are left behind", after.threads - before.threads);
    if (after.files - before.files >= TIMES - 2)
        kit_fail("%d open files are left behind", after.files - before.files);
}

void group_leaks(void)
{
    bool counted;

    kit_open();
    counted = accounts_return();
    if (counted)
        copies_are_counted();
    memory_comes_back();
    if (!kit_synchronous())
        kit_does_not_grow("event_record and event_destroy", one_event, EVENTS);
    if (kit.ops.queue_create) {
        come_and_go("queue_create and queue_destroy", create_and_destroy_queue);
        kit_does_not_grow("queue_create and queue_destroy", create_and_destroy_queue, QUEUES);
    }
    kit_calls_leave_nothing();
    kit_case("device_close");
    kit.ops.device_close(kit.dev);
    come_and_go("device_open and device_close", open_and_close);
    kit_does_not_grow("device_open, work and device_close", open_work_and_close, opens());
    if (!counted)
        kit_not_offered("no counters: leaks inside the plugin cannot be detected; the process does "
                        "not grow");
    kit_remark("by counters, and by the process's size");
}
