/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The simulated device's faults: calls that fail, commands that fail after they were accepted, a
 * device that is lost. The device's counters are the same after each failure as before.
 */

/* A device with one object of each kind, so that every call has an operand. */
static struct {
    void *dev, *block, *queue, *event, *ptr, *import;
    int word;
} f;

static bool setup(const char *clock)
{
    uint32_t flags;

    if (!sim_load())
        return false;
    driver_set("clock", clock);
    driver_set("unified", "on");
    f.dev = sim_open(0);
    f.block = sim_block(f.dev, 64, FERRY_ALLOC_ZERO);
    CU_ASSERT_FATAL(sim->queue_create(f.dev, 0, &f.queue) == 0);
    CU_ASSERT_FATAL(sim->event_record(f.dev, NULL, &f.event) == 0);
    CU_ASSERT_FATAL(sim->host_alloc(f.dev, 4096, 0, &f.ptr, &flags) == 0);
    CU_ASSERT_FATAL(sim->import_host(f.dev, f.ptr, 4096, 0, &f.import) == 0);
    CU_ASSERT_EQUAL(sim->synchronize(f.dev), 0);
    return true;
}

static void teardown(void)
{
    CU_ASSERT_EQUAL(sim->unimport_host(f.dev, f.import), 0);
    CU_ASSERT_EQUAL(sim->host_free(f.dev, f.ptr), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, f.event), 0);
    CU_ASSERT_EQUAL(sim->queue_destroy(f.dev, f.queue), 0);
    sim_free_block(f.dev, f.block);
    sim_close(f.dev);
}

/* Makes one call of each kind and undoes it, so that the counters are the same as before. */

static int call_alloc(void)
{
    void *block;
    uint32_t flags;
    int err = sim->alloc(f.dev, NULL, 64, 0, &block, &flags);

    return err ? err : sim->free(f.dev, NULL, block);
}

static int call_memcpy(void)
{
    return sim->memcpy(f.dev, NULL, FERRY_MEMCPY_D2H, driver_ref(&f.word, 0),
                       driver_cref(f.block, 0), sizeof(f.word));
}

static int call_memset(void)
{
    return sim->memset(f.dev, NULL, driver_ref(f.block, 32), 0, 8);
}

static int call_op(void)
{
    return sim->axpy(f.dev, NULL, FERRY_F32, 2, 1, driver_cref(f.block, 0),
                     driver_ref(f.block, 32));
}

static int call_event(void)
{
    void *event;
    int err = sim->event_record(f.dev, NULL, &event);

    return err ? err : sim->event_destroy(f.dev, event);
}

static int call_host_alloc(void)
{
    void *ptr;
    uint32_t flags;
    int err = sim->host_alloc(f.dev, 64, 0, &ptr, &flags);

    return err ? err : sim->host_free(f.dev, ptr);
}

static int call_import(void)
{
    int err = sim->unimport_host(f.dev, f.import);
    void *handle;
    int result;

    CU_ASSERT_EQUAL(err, 0);
    result = sim->import_host(f.dev, f.ptr, 4096, 0, &handle);
    err = result ? sim->import_host(f.dev, f.ptr, 4096, 0, &handle) : 0;
    f.import = handle;
    return err ? err : result;
}

static int call_map(void)
{
    int err = sim->map(f.dev, NULL, f.import, 64, FERRY_READ);

    return err ? err : sim->unmap(f.dev, NULL, f.import);
}

static int call_unmap(void)
{
    int result, err = sim->map(f.dev, NULL, f.import, 64, FERRY_READ);

    CU_ASSERT_EQUAL(err, 0);
    result = sim->unmap(f.dev, NULL, f.import);
    err = result ? sim->unmap(f.dev, NULL, f.import) : 0;
    return err ? err : result;
}

static int call_queue(void)
{
    void *queue;
    int err = sim->queue_create(f.dev, 0, &queue);

    return err ? err : sim->queue_destroy(f.dev, queue);
}

static int call_wait(void)
{
    return sim->queue_wait(f.dev, f.queue, f.event);
}

static int (*const calls[SIM_CALL_ANY])(void) = {
    [SIM_CALL_ALLOC] = call_alloc,   [SIM_CALL_MEMCPY] = call_memcpy,
    [SIM_CALL_MEMSET] = call_memset, [SIM_CALL_OP] = call_op,
    [SIM_CALL_EVENT] = call_event,   [SIM_CALL_HOST_ALLOC] = call_host_alloc,
    [SIM_CALL_IMPORT] = call_import, [SIM_CALL_MAP] = call_map,
    [SIM_CALL_UNMAP] = call_unmap,   [SIM_CALL_QUEUE] = call_queue,
    [SIM_CALL_WAIT] = call_wait,
};

/* The counters of existing objects, without those of past calls. */
static bool same_account(const ferry_plugin_counters *a, const ferry_plugin_counters *b)
{
    return a->live_blocks == b->live_blocks && a->live_bytes == b->live_bytes &&
           a->live_host_blocks == b->live_host_blocks && a->live_imports == b->live_imports &&
           a->live_maps == b->live_maps && a->live_queues == b->live_queues &&
           a->live_events == b->live_events;
}

static void every_kind_of_call_fails_on_request_and_changes_nothing(void)
{
    for (uint32_t kind = 0; kind < SIM_CALL_ANY; kind++) {
        ferry_plugin_counters before, after;
        uint64_t pending;

        if (!setup("manual"))
            return;
        before = driver_count(sim, f.dev);
        pending = control->pending(f.dev);
        control->fail_next(f.dev, kind, 1, FERRY_EDEVICE);
        CU_ASSERT(driver_failed(calls[kind](), FERRY_EDEVICE, "as requested"));
        after = driver_count(sim, f.dev);
        CU_ASSERT(same_account(&before, &after));
        CU_ASSERT_EQUAL(control->pending(f.dev), pending);
        CU_ASSERT_EQUAL(after.copies_d2h, before.copies_d2h);
        CU_ASSERT_EQUAL(after.memsets + after.ops, before.memsets + before.ops);
        CU_ASSERT_EQUAL(calls[kind](), 0);
        CU_ASSERT_EQUAL(sim->synchronize(f.dev), 0);
        teardown();
    }
}

static void only_the_nth_call_fails(void)
{
    if (!setup("sync"))
        return;
    control->fail_next(f.dev, SIM_CALL_MEMSET, 3, FERRY_ENOMEM);
    for (int i = 1; i <= 5; i++) {
        CU_ASSERT_EQUAL(call_memcpy(), 0); /* of another kind, not counted */
        CU_ASSERT_EQUAL(call_memset(), i == 3 ? FERRY_ENOMEM : 0);
    }
    CU_ASSERT_EQUAL(control->calls(f.dev, SIM_CALL_MEMSET), 5);
    control->fail_next(f.dev, SIM_CALL_MEMSET, 1, FERRY_ENOMEM);
    control->fail_next(f.dev, SIM_CALL_MEMSET, 0, 0); /* cancelled */
    CU_ASSERT_EQUAL(call_memset(), 0);
    teardown();
}

static void calls_of_all_kinds_can_be_counted_together(void)
{
    uint64_t before;

    if (!setup("sync"))
        return;
    before = control->calls(f.dev, SIM_CALL_ANY);
    control->fail_next(f.dev, SIM_CALL_ANY, 4, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(call_memset(), 0);
    CU_ASSERT_EQUAL(call_alloc(), 0);
    CU_ASSERT(driver_failed(call_op(), FERRY_EDEVICE, "as requested"));
    CU_ASSERT_EQUAL(call_op(), 0);
    CU_ASSERT_EQUAL(control->calls(f.dev, SIM_CALL_ANY) - before, 5);
    teardown();
}

/* ---- failures of what was accepted ---- */

static void the_failure_of_a_queued_copy_is_reported_by_its_event_only(void)
{
    void *before, *at, *after;

    if (!setup("manual"))
        return;
    f.word = 5;
    control->fail_later(f.dev, SIM_CALL_MEMCPY, 2, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &before), 0);
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &at), 0);
    CU_ASSERT_EQUAL(call_memset(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &after), 0);
    CU_ASSERT_EQUAL(sim->event_query(f.dev, at), 0);
    CU_ASSERT_EQUAL(control->step(f.dev, 2), 2);
    CU_ASSERT_EQUAL(f.word, 0); /* the first copy's */
    CU_ASSERT_EQUAL(control->run_all(f.dev), 4);
    CU_ASSERT_EQUAL((unsigned)f.word, 0xa5a5a5a5u); /* neither zeros nor the earlier value */
    CU_ASSERT_EQUAL(sim->event_query(f.dev, before), 1);
    CU_ASSERT(driver_failed(sim->event_query(f.dev, at), FERRY_EDEVICE, "was accepted and failed"));
    CU_ASSERT(driver_failed(sim->event_synchronize(f.dev, at), FERRY_EDEVICE, "was accepted"));
    CU_ASSERT_EQUAL(sim->event_query(f.dev, after), 1);
    CU_ASSERT_EQUAL(sim->queue_synchronize(f.dev, NULL), 0); /* the event has reported it */
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, before), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, at), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, after), 0);
    teardown();
}

/*
 * The next event reports it as well: the call that synchronizes need not be the one that recorded
 * the event.
 */
static void a_failure_that_no_event_reported_is_reported_by_synchronize_once(void)
{
    static const uint32_t kinds[] = { SIM_CALL_MEMCPY, SIM_CALL_MEMSET, SIM_CALL_OP };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        void *event;

        if (!setup("real"))
            return;
        control->fail_later(f.dev, kinds[i], 1, FERRY_EDEVICE);
        CU_ASSERT_EQUAL(calls[kinds[i]](), 0);
        CU_ASSERT(driver_failed(i ? sim->synchronize(f.dev) : sim->queue_synchronize(f.dev, NULL),
                                FERRY_EDEVICE, "was accepted"));
        CU_ASSERT_EQUAL(sim->queue_synchronize(f.dev, NULL), 0);
        CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &event), 0);
        CU_ASSERT(
            driver_failed(sim->event_synchronize(f.dev, event), FERRY_EDEVICE, "was accepted"));
        CU_ASSERT_EQUAL(sim->event_destroy(f.dev, event), 0);
        CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &event), 0);
        CU_ASSERT_EQUAL(sim->event_synchronize(f.dev, event), 0);
        CU_ASSERT_EQUAL(sim->event_destroy(f.dev, event), 0);
        teardown();
    }
}

static void a_queue_that_waits_for_failed_work_does_not_fail_itself(void)
{
    void *failed, *waited;

    if (!setup("sync"))
        return;
    control->fail_later(f.dev, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &failed), 0);
    CU_ASSERT_EQUAL(sim->queue_wait(f.dev, f.queue, failed), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, f.queue, &waited), 0);
    CU_ASSERT_EQUAL(sim->event_query(f.dev, waited), 1);
    CU_ASSERT_EQUAL(sim->event_query(f.dev, failed), FERRY_EDEVICE);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, failed), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, waited), 0);
    teardown();
}

/* ---- handles that are no more ---- */

static void a_destroyed_event_or_queue_is_recognised(void)
{
    void *event, *next, *queue;

    if (!setup("sync"))
        return;
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, event), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &next), 0);
    CU_ASSERT_PTR_NOT_EQUAL(next, event);
    CU_ASSERT(driver_failed(sim->event_destroy(f.dev, event), FERRY_EINVAL, "destroyed"));
    CU_ASSERT(driver_failed(sim->event_query(f.dev, event), FERRY_EINVAL, "destroyed"));
    CU_ASSERT(driver_failed(sim->queue_wait(f.dev, NULL, event), FERRY_EINVAL, "destroyed"));
    CU_ASSERT(driver_failed(sim->event_synchronize(f.dev, &f), FERRY_EINVAL, "is not an event"));
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, next), 0);
    CU_ASSERT_EQUAL(sim->queue_create(f.dev, 0, &queue), 0);
    CU_ASSERT_EQUAL(sim->queue_destroy(f.dev, queue), 0);
    CU_ASSERT(driver_failed(sim->queue_destroy(f.dev, queue), FERRY_EINVAL, "was not created"));
    CU_ASSERT(driver_failed(sim->queue_synchronize(f.dev, queue), FERRY_EINVAL, "is not a queue"));
    teardown();
}

static void a_thousand_live_events_are_distinguished(void)
{
    enum { MANY = 1000 };
    static void *events[MANY];

    if (!setup("manual"))
        return;
    for (int i = 0; i < MANY; i++)
        CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &events[i]), 0);
    CU_ASSERT_EQUAL(control->step(f.dev, MANY / 2), MANY / 2);
    for (int i = 0; i < MANY; i++)
        CU_ASSERT_EQUAL(sim->event_query(f.dev, events[i]), i < MANY / 2);
    CU_ASSERT_EQUAL(driver_count(sim, f.dev).live_events, MANY + 1);
    for (int i = MANY; i-- > 0;)
        CU_ASSERT_EQUAL(sim->event_destroy(f.dev, events[i]), 0);
    CU_ASSERT_EQUAL(sim->synchronize(f.dev), 0);
    teardown();
}

static void events_beyond_the_table_are_refused_and_the_others_stay_valid(void)
{
    enum { ROOM = 1 << 19 };
    void **events = calloc(ROOM, sizeof(*events)), *none;
    int recorded = 1; /* the one that setup made */

    if (!events || !setup("sync")) {
        free(events);
        return;
    }
    while (recorded < ROOM && !sim->event_record(f.dev, NULL, &events[recorded]))
        recorded++;
    CU_ASSERT_EQUAL(recorded, ROOM);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(driver_failed(sim->event_record(f.dev, NULL, &none), FERRY_ENOMEM,
                                "524288 events are live"));
    CU_ASSERT_EQUAL(sim->event_query(f.dev, events[1]), 1);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, events[1]), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &events[1]), 0);
    while (--recorded > 0)
        CU_ASSERT_EQUAL(sim->event_destroy(f.dev, events[recorded]), 0);
    free(events);
    teardown();
}

/* ---- a lost device ---- */

static int call_query(void)
{
    return sim->event_query(f.dev, f.event);
}

static int call_event_synchronize(void)
{
    return sim->event_synchronize(f.dev, f.event);
}

static int call_queue_synchronize(void)
{
    return sim->queue_synchronize(f.dev, f.queue);
}

static int call_synchronize(void)
{
    return sim->synchronize(f.dev);
}

static int call_memory_info(void)
{
    uint64_t out[2];

    return sim->memory_info(f.dev, &out[0], &out[1]);
}

static void on_a_lost_device_every_call_but_destroy_reports_the_loss(void)
{
    static int (*const blocking[])(void) = { call_query, call_event_synchronize,
                                             call_queue_synchronize, call_synchronize,
                                             call_memory_info };

    if (!setup("manual"))
        return;
    f.word = 1;
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    control->lose(f.dev);
    CU_ASSERT_EQUAL(control->pending(f.dev), 0);
    for (uint32_t kind = 0; kind < SIM_CALL_ANY; kind++)
        if (kind != SIM_CALL_IMPORT && kind != SIM_CALL_UNMAP)
            CU_ASSERT(driver_failed(calls[kind](), FERRY_ELOST, "the device is lost"));
    for (size_t i = 0; i < sizeof(blocking) / sizeof(blocking[0]); i++)
        CU_ASSERT(driver_failed(blocking[i](), FERRY_ELOST, "the device is lost"));
    CU_ASSERT_EQUAL(f.word, 1);
    teardown();
}

static void a_wait_for_a_lost_device_ends(void)
{
    void *other, *event;

    if (!setup("manual"))
        return;
    driver_set("devices", "2");
    other = sim_open(1);
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(sim->queue_wait(other, NULL, event), 0);
    CU_ASSERT_EQUAL(control->run_all(other), 0);
    control->lose(f.dev);
    CU_ASSERT_EQUAL(control->run_all(other), 1);
    CU_ASSERT_EQUAL(sim->synchronize(other), 0);
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, event), 0);
    sim_close(other);
    teardown();
}

static void a_device_is_lost_while_its_thread_works(void)
{
    void *event;

    if (!sim_load())
        return;
    f.dev = sim_open(0);
    f.block = sim_block(f.dev, 64, 0);
    control->hold(f.dev, 1); /* otherwise the copy may end before the device is lost */
    CU_ASSERT_EQUAL(call_memcpy(), 0);
    CU_ASSERT_EQUAL(sim->event_record(f.dev, NULL, &event), 0);
    control->lose(f.dev);
    CU_ASSERT(driver_failed(sim->event_synchronize(f.dev, event), FERRY_ELOST, "lost"));
    CU_ASSERT_EQUAL(sim->event_destroy(f.dev, event), 0);
    sim_free_block(f.dev, f.block);
    sim_close(f.dev);
}

/* The program may free the source afterwards. */
static void losing_a_device_waits_for_the_copy_that_runs(void)
{
    const uint64_t size = 128u << 20;
    const struct timespec moment = { .tv_nsec = 3000000 };
    void *from, *block;

    if (!sim_load())
        return;
    f.dev = sim_open(0);
    block = sim_block(f.dev, size, 0);
    from = calloc(1, size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(from);
    CU_ASSERT_EQUAL(sim->memcpy(f.dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0),
                                driver_cref(from, 0), size),
                    0);
    nanosleep(&moment, NULL); /* the device's thread begins the copy */
    control->lose(f.dev);
    CU_ASSERT_EQUAL(control->pending(f.dev), 0);
    free(from);
    sim_free_block(f.dev, block);
    sim_close(f.dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_kind_of_call_fails_on_request_and_changes_nothing),
    FERRY_TEST(only_the_nth_call_fails),
    FERRY_TEST(calls_of_all_kinds_can_be_counted_together),
    FERRY_TEST(the_failure_of_a_queued_copy_is_reported_by_its_event_only),
    FERRY_TEST(a_failure_that_no_event_reported_is_reported_by_synchronize_once),
    FERRY_TEST(a_queue_that_waits_for_failed_work_does_not_fail_itself),
    FERRY_TEST(a_destroyed_event_or_queue_is_recognised),
    FERRY_TEST(a_thousand_live_events_are_distinguished),
    FERRY_TEST(events_beyond_the_table_are_refused_and_the_others_stay_valid),
    FERRY_TEST(on_a_lost_device_every_call_but_destroy_reports_the_loss),
    FERRY_TEST(a_wait_for_a_lost_device_ends),
    FERRY_TEST(a_device_is_lost_while_its_thread_works),
    FERRY_TEST(losing_a_device_waits_for_the_copy_that_runs),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-faults", cases, FERRY_TEST_COUNT(cases));
}
