/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"

#include <ferry/ferry.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Threads over three simulated devices whose work runs on threads of its own: queues that several
 * threads use, blobs that all of them read, and evictions that other threads cause.
 */

#define DEVICES 3
#define THREADS 4
#define BLOBS   6 /* each thread's */
#define COUNT   96
#define LITTLE  1024 /* bytes: not enough for the memory in use at once */

static struct {
    ferry_runtime *rt;
    ferry_device *dev[DEVICES];
    ferry_queue *queue[DEVICES][2]; /* the default one, and one for all threads */
    ferry_blob *shared;             /* all 7, read by every thread */
    atomic_bool stop, evicting;
    atomic_int wrong;
} w;

static void expect_that(bool condition, const char *what)
{
    if (!condition && atomic_fetch_add(&w.wrong, 1) < 5)
        printf("     %s: %s\n", what, ferry_last_error());
}

#define expect(condition) expect_that((condition), #condition)

static int rounds(int n)
{
    if (ferry_test_is_slow())
        return n / 20 + 1;
    return getenv("FERRY_TEST_QUICK") ? n / 4 : n;
}

/* ---- devices -------------------------------------------------------------------------------- */

static bool open_device(int i)
{
    const char name[] = { 's', 'i', 'm', ':', (char)('0' + i), '\0' };

    if (ferry_runtime_get_device(w.rt, name, &w.dev[i]))
        return false;
    w.queue[i][0] = ferry_device_queue(w.dev[i]);
    return w.queue[i][0] && !ferry_queue_create(w.dev[i], &w.queue[i][1]);
}

static void begin(void)
{
    bool ok = !ferry_runtime_open(NULL, &w.rt);

    w.wrong = 0;
    w.stop = w.evicting = false;
    if (ok) { /* devices that are already open have them */
        (void)ferry_runtime_set_option(w.rt, "sim", "devices", "3");
        (void)ferry_runtime_set_option(w.rt, "sim", "op_latency", "20");
    }
    for (int i = 0; ok && i < DEVICES; i++)
        ok = open_device(i);
    CU_ASSERT_FATAL(ok);
    ok = !ferry_blob_create(w.dev[0], FERRY_F32, (int64_t[]){ COUNT }, 1, &w.shared) &&
         !ferry_blob_fill_data(w.shared, 7);
    CU_ASSERT_FATAL(ok);
}

static void end(void)
{
    CU_ASSERT_EQUAL(w.wrong, 0);
    ferry_blob_destroy(w.shared);
    for (int i = 0; i < DEVICES; i++) {
        ferry_device_stats s = { .struct_size = sizeof s };

        ferry_queue_destroy(w.queue[i][1]);
        CU_ASSERT_EQUAL(ferry_device_set_budget(w.dev[i], 0), FERRY_OK);
        CU_ASSERT_EQUAL(ferry_device_get_stats(w.dev[i], &s), FERRY_OK);
        CU_ASSERT_EQUAL(s.live_bytes, 0);
        CU_ASSERT_EQUAL(s.allocs, s.frees);
    }
    ferry_runtime_close(w.rt);
}

static void run_threads(void *(*body)(void *), void *(*beside)(void *))
{
    pthread_t threads[THREADS + 1];
    int started = 0;

    for (; started < THREADS; started++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[started], NULL, body, (void *)(intptr_t)started), 0);
    if (beside)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[THREADS], NULL, beside, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    w.stop = true;
    if (beside)
        pthread_join(threads[THREADS], NULL);
}

/* ---- the threads' work ----------------------------------------------------------------------- */

static bool all_are(const float *p, float value)
{
    for (int i = 0; p && i < COUNT; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

/* Sets elements from the host, which needs no memory of a device. */
static void set_all(ferry_blob *b, float value)
{
    float *p = ferry_blob_overwrite_host_data(b);

    expect(p != NULL);
    for (int i = 0; p && i < COUNT; i++)
        p[i] = value;
}

/*
 * While a thread holds the budget down, an allocation may fail until the other threads release
 * memory.
 */
static ferry_ref get(ferry_blob *b, int dev, ferry_queue *q, unsigned access)
{
    ferry_memory *m = ferry_blob_data_memory(b);
    ferry_ref ref = { NULL, 0 };
    int err;

    while ((err = ferry_memory_access(m, w.dev[dev], access, q, &ref)) == FERRY_ENOMEM &&
           w.evicting)
        sched_yield();
    expect(!err);
    return ref;
}

/*
 * Moves one blob over all devices, on the queues that all threads share, and back to its first
 * device.
 */
static void go_round(ferry_blob *b, int thread, int turn, float value)
{
    for (int i = 0; i < DEVICES; i++) {
        int dev = (thread + turn + i) % DEVICES;
        ferry_queue *q = w.queue[dev][(turn + i) % 2];
        ferry_ref ref = get(b, dev, q, FERRY_READ | FERRY_WRITE);

        if (ref.handle)
            expect(!ferry_math_scal(q, FERRY_F32, COUNT, i ? 2 : 0.25, ref));
        expect(!ferry_memory_allow_eviction(ferry_blob_data_memory(b)));
    }
    expect(all_are(ferry_blob_host_data(b), value));
    expect(!ferry_memory_allow_eviction(ferry_blob_data_memory(b)));
}

static void *work(void *arg)
{
    int thread = (int)(intptr_t)arg;
    ferry_blob *mine[BLOBS] = { NULL };

    for (int i = 0; i < BLOBS; i++) {
        expect(!ferry_blob_create(w.dev[(thread + i) % DEVICES], FERRY_F32, (int64_t[]){ COUNT }, 1,
                                  &mine[i]));
        set_all(mine[i], (float)(thread + 10 * i));
    }
    for (int turn = 0; turn < rounds(200) && !w.wrong; turn++)
        go_round(mine[turn % BLOBS], thread, turn, (float)(thread + 10 * (turn % BLOBS)));
    for (int i = 0; i < BLOBS; i++)
        ferry_blob_destroy(mine[i]);
    return NULL;
}

/* Reads from all devices at once. */
static void *look(void *arg)
{
    int thread = (int)(intptr_t)arg;

    for (int turn = 0; turn < rounds(400) && !w.wrong; turn++) {
        int dev = (thread + turn) % DEVICES;
        double sum = 0;

        (void)get(w.shared, dev, w.queue[dev][turn % 2], FERRY_READ);
        expect(
            !ferry_memory_prefetch(ferry_blob_data_memory(w.shared), w.dev[turn % DEVICES], NULL));
        expect(!ferry_blob_asum_data(w.shared, &sum) && sum == 7 * COUNT);
        expect(all_are(ferry_blob_host_data(w.shared), 7));
    }
    return NULL;
}

static void *work_and_look(void *arg)
{
    return (intptr_t)arg % 2 ? look(arg) : work(arg);
}

/* Lowers the budget and restores it until the other threads have finished. */
static void *evict(void *arg)
{
    (void)arg;
    for (int i = 0; !w.stop; i++) {
        expect(!ferry_device_set_budget(w.dev[i % DEVICES], LITTLE));
        sched_yield();
        expect(!ferry_device_set_budget(w.dev[i % DEVICES], 0));
        if (i % 8 == 0)
            expect(!ferry_device_trim(w.dev[i / 8 % DEVICES]));
    }
    return NULL;
}

/* Waits for the shared queues while others submit work to them. */
static void *wait_about(void *arg)
{
    (void)arg;
    for (int i = 0; !w.stop; i++) {
        ferry_event *e = NULL;

        expect(!ferry_event_record(w.queue[i % DEVICES][i % 2], &e));
        expect(!ferry_queue_wait_event(w.queue[(i + 1) % DEVICES][i % 2], e));
        expect(!ferry_event_synchronize(e));
        ferry_event_destroy(e);
        if (i % 16 == 0)
            expect(!ferry_device_synchronize(w.dev[i / 16 % DEVICES]));
    }
    return NULL;
}

/* ---- the cases ------------------------------------------------------------------------------ */

static void threads_may_share_the_queues_of_three_devices(void)
{
    begin();
    run_threads(work, wait_about);
    end();
}

/*
 * A budget that another thread sets may or may not be met; memory in use by pending work is kept.
 */
static void one_thread_may_evict_memories_that_are_idle_in_others(void)
{
    ferry_device_stats before[DEVICES], after = { .struct_size = sizeof after };
    uint64_t evictions = 0;

    begin();
    for (int i = 0; i < DEVICES; i++) {
        before[i].struct_size = sizeof before[i];
        CU_ASSERT_EQUAL(ferry_device_get_stats(w.dev[i], &before[i]), FERRY_OK);
    }
    w.evicting = true;
    run_threads(work, evict);
    for (int i = 0; i < DEVICES; i++) {
        CU_ASSERT_EQUAL(ferry_device_get_stats(w.dev[i], &after), FERRY_OK);
        evictions += after.evictions - before[i].evictions;
    }
    CU_ASSERT(evictions > 0);
    end();
}

static void readers_share_one_blob_while_others_are_written(void)
{
    begin();
    run_threads(work_and_look, wait_about);
    end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(threads_may_share_the_queues_of_three_devices),
    FERRY_TEST(one_thread_may_evict_memories_that_are_idle_in_others),
    FERRY_TEST(readers_share_one_blob_while_others_are_written),
};

int main(int argc, char **argv)
{
    if (!ferry_test_is_built("sim")) {
        puts("ferry-test: threads-devices: 0 passed, 0 failed, 1 skipped");
        return 77;
    }
    return ferry_test_main(argc, argv, "threads-devices", cases, FERRY_TEST_COUNT(cases));
}
