/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The simulated device's clocks: when work runs, in which order, and which calls wait for it.
 */

static void *device(const char *clock)
{
    if (!sim_load())
        return NULL;
    driver_set("clock", clock);
    driver_set("devices", "2");
    return sim_open(0);
}

static void *queue_of(void *dev)
{
    void *queue = NULL;

    CU_ASSERT_FATAL(sim->queue_create(dev, 0, &queue) == 0);
    return queue;
}

static void *record(void *dev, void *queue)
{
    void *event = NULL;

    CU_ASSERT_FATAL(sim->event_record(dev, queue, &event) == 0);
    return event;
}

static void put(void *dev, void *queue, void *handle, const void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(sim->memcpy(dev, queue, FERRY_MEMCPY_H2D, driver_ref(handle, 0),
                                driver_cref(bytes, 0), size),
                    0);
}

static void get(void *dev, void *queue, const void *handle, void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(sim->memcpy(dev, queue, FERRY_MEMCPY_D2H, driver_ref(bytes, 0),
                                driver_cref(handle, 0), size),
                    0);
}

static void done_with(void *dev, void *event)
{
    CU_ASSERT_EQUAL(sim->event_destroy(dev, event), 0);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- the manual clock ---- */

static void on_the_manual_clock_a_copy_reads_and_writes_when_it_is_stepped(void)
{
    void *dev = device("manual");
    int source = 1, target = 0;
    void *block;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    put(dev, NULL, block, &source, sizeof(int));
    get(dev, NULL, block, &target, sizeof(int));
    source = 2;
    CU_ASSERT_EQUAL(control->pending(dev), 2);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    source = 3;
    CU_ASSERT_EQUAL(target, 0);
    CU_ASSERT_EQUAL(control->step(dev, 5), 1);
    CU_ASSERT_EQUAL(target, 2);
    CU_ASSERT_EQUAL(control->step(dev, 1), 0);
    CU_ASSERT_EQUAL(source, 3);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void an_event_is_done_when_all_earlier_work_has_run(void)
{
    void *dev = device("manual");
    int value = 1;
    void *block, *early, *late;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    early = record(dev, NULL);
    put(dev, NULL, block, &value, sizeof(int));
    late = record(dev, NULL);
    CU_ASSERT_EQUAL(sim->event_query(dev, early), 0);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    CU_ASSERT_EQUAL(sim->event_query(dev, early), 1);
    CU_ASSERT_EQUAL(sim->event_query(dev, late), 0);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    CU_ASSERT_EQUAL(sim->event_query(dev, late), 0);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    CU_ASSERT_EQUAL(sim->event_query(dev, late), 1);
    CU_ASSERT_EQUAL(driver_count(sim, dev).live_events, 2);
    done_with(dev, early);
    done_with(dev, late);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void steps_run_in_submission_order_or_on_one_queue(void)
{
    void *dev = device("manual");
    int one = 1, two = 2, three = 3, seen = 0;
    void *block, *queue;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    queue = queue_of(dev);
    put(dev, queue, block, &one, sizeof(int));
    put(dev, NULL, block, &two, sizeof(int));
    put(dev, queue, block, &three, sizeof(int));
    CU_ASSERT_EQUAL(control->step_queue(dev, queue, 9), 2);
    CU_ASSERT_EQUAL(control->pending(dev), 1);
    CU_ASSERT_EQUAL(control->step_queue(dev, NULL, 9), 1); /* the default one, last */
    sim_get(dev, block, &seen, sizeof(int));
    CU_ASSERT_EQUAL(seen, 2);
    put(dev, NULL, block, &one, sizeof(int));
    put(dev, queue, block, &three, sizeof(int));
    CU_ASSERT_EQUAL(control->run_all(dev), 2);
    sim_get(dev, block, &seen, sizeof(int));
    CU_ASSERT_EQUAL(seen, 3);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, queue), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void a_queue_that_waits_is_skipped(void)
{
    void *dev = device("manual");
    int one = 1, two = 2, seen = 0;
    void *block, *queue, *event;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    queue = queue_of(dev);
    put(dev, queue, block, &one, sizeof(int));
    event = record(dev, queue);
    CU_ASSERT_EQUAL(sim->queue_wait(dev, NULL, event), 0);
    done_with(dev, event); /* its handle is freed, the wait remains */
    put(dev, NULL, block, &two, sizeof(int));
    CU_ASSERT_EQUAL(control->step_queue(dev, NULL, 9), 0);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    CU_ASSERT_EQUAL(control->step_queue(dev, NULL, 9), 0);
    CU_ASSERT_EQUAL(control->step(dev, 1), 1);
    CU_ASSERT_EQUAL(control->step_queue(dev, NULL, 9), 2);
    sim_get(dev, block, &seen, sizeof(int));
    CU_ASSERT_EQUAL(seen, 2);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, queue), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void a_blocking_call_runs_only_the_work_it_waits_for(void)
{
    void *dev = device("manual");
    int one = 1, seen = 0;
    void *block, *first, *second, *event, *last;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    first = queue_of(dev);
    second = queue_of(dev);
    put(dev, first, block, &one, sizeof(int));
    event = record(dev, first);
    put(dev, first, block, &one, sizeof(int)); /* after the event, so nothing waits for it */
    CU_ASSERT_EQUAL(sim->queue_wait(dev, second, event), 0);
    get(dev, second, block, &seen, sizeof(int));
    put(dev, NULL, block, &one, sizeof(int));
    last = record(dev, second);
    CU_ASSERT_EQUAL(sim->event_synchronize(dev, last), 0);
    CU_ASSERT_EQUAL(seen, 1);
    CU_ASSERT_EQUAL(control->pending(dev), 2);
    CU_ASSERT_EQUAL(sim->queue_synchronize(dev, first), 0);
    CU_ASSERT_EQUAL(control->pending(dev), 1);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    CU_ASSERT_EQUAL(control->pending(dev), 0);
    put(dev, second, block, &one, sizeof(int));
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, second), 0);
    CU_ASSERT_EQUAL(control->pending(dev), 0);
    done_with(dev, event);
    done_with(dev, last);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, first), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void a_block_that_commands_still_use_is_not_freed(void)
{
    void *dev = device("manual");
    int value = 1;
    void *block;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    put(dev, NULL, block, &value, sizeof(int));
    CU_ASSERT(driver_failed(sim->free(dev, NULL, block), FERRY_EBUSY, "1 commands still use it"));
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* ---- two devices ---- */

static void waits_reach_across_devices(const char *clock)
{
    void *dev = device(clock);
    int value = 41, seen = 0;
    void *other, *there, *here, *event, *copied;

    if (!dev)
        return;
    other = sim_open(1);
    there = sim_block(other, sizeof(int), 0);
    here = sim_block(dev, sizeof(int), 0);
    put(other, NULL, there, &value, sizeof(int));
    event = record(other, NULL);
    CU_ASSERT_EQUAL(sim->queue_wait(dev, NULL, event), 0);
    CU_ASSERT_EQUAL(
        sim->peer_copy(dev, NULL, driver_ref(here, 0), other, driver_cref(there, 0), sizeof(int)),
        0);
    get(dev, NULL, here, &seen, sizeof(int));
    copied = record(dev, NULL);
    CU_ASSERT(driver_failed(sim->event_query(dev, event), FERRY_EINVAL, "belongs to sim:1"));
    if (!strcmp(clock, "manual"))
        CU_ASSERT_EQUAL(control->run_all(dev), 0);
    CU_ASSERT_EQUAL(sim->event_synchronize(dev, copied), 0);
    CU_ASSERT_EQUAL(seen, 41);
    CU_ASSERT_EQUAL(driver_count(sim, dev).copies_d2d, 1);
    done_with(other, event);
    done_with(dev, copied);
    sim_free_block(dev, here);
    sim_free_block(other, there);
    sim_close(other);
    sim_close(dev);
}

static void a_wait_for_an_event_of_another_device_works_on_every_clock(void)
{
    waits_reach_across_devices("manual");
    waits_reach_across_devices("sync");
    waits_reach_across_devices("real");
}

static void peer_copies_can_be_switched_off(void)
{
    void *dev = device("sync");
    void *other, *block, *theirs;

    if (!dev)
        return;
    other = sim_open(1);
    CU_ASSERT_EQUAL(sim->peer_access(dev, other), 1);
    CU_ASSERT_EQUAL(sim->peer_access(dev, dev), 0);
    sim_close(other);
    driver_set("peer", "off");
    other = sim_open(1);
    block = sim_block(dev, 8, 0);
    theirs = sim_block(other, 8, 0);
    CU_ASSERT_EQUAL(sim->peer_access(dev, other), 0);
    CU_ASSERT(driver_failed(
        sim->peer_copy(dev, NULL, driver_ref(block, 0), other, driver_cref(theirs, 0), 8),
        FERRY_EUNSUPPORTED, "peer = off"));
    sim_free_block(dev, block);
    sim_free_block(other, theirs);
    sim_close(other);
    sim_close(dev);
}

/* ---- the sync clock, the real clock ---- */

static unsigned threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count;
}

static void on_the_sync_clock_all_work_is_done_on_return_without_a_thread(void)
{
    unsigned before = threads();
    void *dev = device("sync");
    int value = 5, seen = 0;
    void *block, *event;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    put(dev, NULL, block, &value, sizeof(int));
    get(dev, NULL, block, &seen, sizeof(int));
    CU_ASSERT_EQUAL(seen, 5);
    event = record(dev, NULL);
    CU_ASSERT_EQUAL(sim->event_query(dev, event), 1);
    CU_ASSERT_EQUAL(threads(), before);
    done_with(dev, event);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* Latency 0: no later query is necessary. */
static void on_the_real_clock_an_event_completes_by_itself(void)
{
    void *dev = device("real");
    void *event;
    int done = 0;

    if (!dev)
        return;
    event = record(dev, NULL);
    for (int64_t end = now() + 20 * 1000 * 1000; !done && now() < end;)
        done = sim->event_query(dev, event);
    CU_ASSERT_EQUAL(done, 1);
    done_with(dev, event);
    sim_close(dev);
}

static void a_held_device_runs_nothing_until_it_is_released(void)
{
    void *dev = device("real");
    int value = 6, seen = 0;
    void *block, *event;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(int), 0);
    control->hold(dev, 1);
    put(dev, NULL, block, &value, sizeof(int));
    get(dev, NULL, block, &seen, sizeof(int));
    event = record(dev, NULL);
    usleep(5000); /* time for the thread to run it wrongly */
    CU_ASSERT_EQUAL(control->pending(dev), 3);
    CU_ASSERT_EQUAL(sim->event_query(dev, event), 0);
    control->hold(dev, 0);
    CU_ASSERT_EQUAL(sim->event_synchronize(dev, event), 0);
    CU_ASSERT_EQUAL(seen, 6);
    done_with(dev, event);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void the_time_of_a_copy_is_latency_plus_bytes_over_bandwidth(void)
{
    static unsigned char bytes[1 << 16];
    unsigned char seen = 1;
    void *dev, *block, *event;
    int64_t start;

    if (!sim_load())
        return;
    driver_set("latency", "20000");
    driver_set("bandwidth", "2MiB/s");
    dev = sim_open(0);
    block = sim_block(dev, sizeof(bytes), FERRY_ALLOC_ZERO);
    start = now();
    get(dev, NULL, block, &seen, 1); /* 20 ms */
    event = record(dev, NULL);
    CU_ASSERT(sim->event_query(dev, event) == 0 || now() - start >= 20000);
    CU_ASSERT_EQUAL(sim->event_synchronize(dev, event), 0);
    CU_ASSERT_EQUAL(seen, 0);
    CU_ASSERT(now() - start >= 20000);
    start = now();
    put(dev, NULL, block, bytes, sizeof(bytes)); /* 20 ms and 1/32 s */
    CU_ASSERT_EQUAL(sim->queue_synchronize(dev, NULL), 0);
    CU_ASSERT(now() - start >= 20000 + 31250);
    done_with(dev, event);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void copies_in_one_direction_share_the_bandwidth_across_queues(void)
{
    void *dev, *block, *queue;
    int64_t start;
    int value = 0;

    if (!sim_load())
        return;
    driver_set("latency", "15000");
    driver_set("op_latency", "40000");
    dev = sim_open(0);
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    queue = queue_of(dev);
    start = now();
    put(dev, NULL, block, &value, sizeof(value));
    put(dev, queue, block, &value, sizeof(value));
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    CU_ASSERT(now() - start >= 30000);
    start = now();
    CU_ASSERT_EQUAL(sim->memset(dev, NULL, driver_ref(block, 0), 0, 8), 0);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    CU_ASSERT(now() - start >= 40000);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, queue), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/*
 * The bytes are copied before the end of the copy's time, so that it does not end late; it must not
 * end early either.
 */
static void a_large_copy_ends_no_earlier_than_the_model_predicts(void)
{
    enum { SIZE = 8 << 20 };
    void *dev, *block, *bytes = calloc(1, SIZE);
    int64_t start;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    if (!sim_load()) {
        free(bytes);
        return;
    }
    driver_set("bandwidth", "2GiB/s");
    dev = sim_open(0);
    block = sim_block(dev, SIZE, FERRY_ALLOC_ZERO);
    sim_put(dev, block, bytes, SIZE);
    start = now();
    sim_put(dev, block, bytes, SIZE);
    CU_ASSERT(now() - start >= 3906);
    sim_free_block(dev, block);
    sim_close(dev);
    free(bytes);
}

static void a_wait_is_part_of_the_modelled_time(void)
{
    void *dev, *block, *queue, *event;
    int64_t start;
    int value = 0;

    if (!sim_load())
        return;
    driver_set("latency", "20000");
    dev = sim_open(0);
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    queue = queue_of(dev);
    start = now();
    put(dev, NULL, block, &value, sizeof(value));
    event = record(dev, NULL);
    CU_ASSERT_EQUAL(sim->queue_wait(dev, queue, event), 0);
    get(dev, queue, block, &value, sizeof(value)); /* the other order, but only then */
    CU_ASSERT_EQUAL(sim->queue_synchronize(dev, queue), 0);
    CU_ASSERT(now() - start >= 40000);
    done_with(dev, event);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, queue), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/*
 * The value that a copy of 0.3 s has read, if a write came after its submission: within the time of
 * the copy or (*out_late) later.
 */
static int read_behind(void *dev, void *block, bool *out_late)
{
    int64_t start = now();
    int source = 1, seen = 0;

    put(dev, NULL, block, &source, sizeof(source));
    usleep(5000); /* time for the thread to run it wrongly */
    source = 2;
    driver_count(sim, dev); /* an order between this write and the copy, for ThreadSanitizer */
    *out_late = now() - start >= 250000;
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_get(dev, block, &seen, sizeof(seen));
    return seen;
}

/* On a busy machine this thread may be too late to observe it. */
static void a_copy_reads_its_source_when_it_runs_not_when_it_is_submitted(void)
{
    void *dev, *block;
    bool late = true;
    int seen = 0;

    if (!sim_load())
        return;
    driver_set("latency", "300000");
    dev = sim_open(0);
    block = sim_block(dev, sizeof(int), 0);
    for (int i = 0; i < 20 && late; i++)
        seen = read_behind(dev, block, &late);
    CU_ASSERT(!late && seen == 2);
    sim_free_block(dev, block);
    sim_close(dev);
}

/*
 * The first one counts threads: a thread of another case may be listed for a moment after it was
 * joined.
 */
static const ferry_test_case cases[] = {
    FERRY_TEST(on_the_sync_clock_all_work_is_done_on_return_without_a_thread),
    FERRY_TEST(on_the_manual_clock_a_copy_reads_and_writes_when_it_is_stepped),
    FERRY_TEST(an_event_is_done_when_all_earlier_work_has_run),
    FERRY_TEST(steps_run_in_submission_order_or_on_one_queue),
    FERRY_TEST(a_queue_that_waits_is_skipped),
    FERRY_TEST(a_blocking_call_runs_only_the_work_it_waits_for),
    FERRY_TEST(a_block_that_commands_still_use_is_not_freed),
    FERRY_TEST(a_wait_for_an_event_of_another_device_works_on_every_clock),
    FERRY_TEST(peer_copies_can_be_switched_off),
    FERRY_TEST(on_the_real_clock_an_event_completes_by_itself),
    FERRY_TEST(a_held_device_runs_nothing_until_it_is_released),
    FERRY_TEST(the_time_of_a_copy_is_latency_plus_bytes_over_bandwidth),
    FERRY_TEST(copies_in_one_direction_share_the_bandwidth_across_queues),
    FERRY_TEST(a_large_copy_ends_no_earlier_than_the_model_predicts),
    FERRY_TEST(a_wait_is_part_of_the_modelled_time),
    FERRY_TEST(a_copy_reads_its_source_when_it_runs_not_when_it_is_submitted),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-clock", cases, FERRY_TEST_COUNT(cases));
}
