/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Eight threads that read, prefetch and synchronise the same blobs on the host and two devices, on
 * default queues and on their own. Between phases one thread alone writes every blob, so that each
 * phase copies all of them again. CUnit's assertions are not thread-safe: the workers count errors.
 */

#define THREADS 8
#define BLOBS   16
#define COUNT   64
#define PHASE   50 /* accesses of one thread between two writes */

static pthread_barrier_t barrier;
static atomic_int wrong;
static atomic_ulong accesses;
static ferry_blob *blobs[BLOBS];
static int values[BLOBS];
static unsigned phases;

static void expect(bool condition)
{
    if (!condition && atomic_fetch_add(&wrong, 1) < 10)
        printf("     %s\n", ferry_last_error());
}

static unsigned roll(uint64_t *state, unsigned n)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (unsigned)((*state * UINT64_C(2685821657736338717)) >> 33) % n;
}

static void read_host(int i)
{
    const float *p = ferry_blob_host_data(blobs[i]);

    for (int k = 0; p && k < COUNT; k++)
        if (p[k] != (float)values[i])
            p = NULL;
    expect(p != NULL);
}

/* Reads the memory that the access returned, occasionally by a kernel on the thread's queue. */
static void read_device(int i, ferry_queue *q, bool look)
{
    ferry_memory *m = ferry_blob_data_memory(blobs[i]);
    ferry_ref ref = { NULL, 0 };
    double sum = -1;

    expect(!ferry_memory_access(m, ferry_queue_device(q), FERRY_READ, q, &ref));
    if (!look || !ref.handle)
        return;
    expect(!ferry_math_asum(q, FERRY_F32, COUNT, ferry_ref_const(ref), &sum));
    expect(sum == (double)values[i] * COUNT);
}

static void prefetch(int i, unsigned where, ferry_queue *q)
{
    ferry_memory *m = ferry_blob_data_memory(blobs[i]);

    expect(!ferry_memory_prefetch(m, where == 2 ? NULL : wx_dev((int)where), q));
}

static void synchronize(unsigned where, ferry_queue *own)
{
    ferry_event *e = NULL;

    if (where < 2)
        expect(!ferry_device_synchronize(wx_dev((int)where)));
    else if (where == 2)
        expect(!ferry_queue_synchronize(own));
    else if (!ferry_event_record(own, &e))
        expect(!ferry_event_synchronize(e));
    ferry_event_destroy(e);
}

static void access_once(uint64_t *random, ferry_queue *const own[2])
{
    int i = (int)roll(random, BLOBS);
    unsigned where = roll(random, 2), what = roll(random, 200);

    if (what < 60)
        read_host(i);
    else if (what < 110)
        read_device(i, wx_queue((int)where), what == 60);
    else if (what < 140)
        read_device(i, own[where], what == 110);
    else if (what < 190)
        prefetch(i, roll(random, 3), NULL);
    else if (what < 198)
        prefetch(i, where, own[where]);
    else
        synchronize(roll(random, 4), own[where]);
}

/* Writes while all other threads wait at the barrier. */
static void write_all(unsigned phase)
{
    for (int i = 0; i < BLOBS; i++) {
        int where = (int)(phase + (unsigned)i) % 3;
        float *p;

        values[i] = (int)(phase % 1000) * BLOBS + i;
        if (where < 2) {
            expect(!ferry_blob_move_to(blobs[i], wx_dev(where)));
            expect(ferry_blob_overwrite_device_data(blobs[i]).handle != NULL);
            expect(!ferry_blob_fill_data(blobs[i], values[i]));
            continue;
        }
        p = ferry_blob_overwrite_host_data(blobs[i]);
        expect(p != NULL);
        for (int k = 0; p && k < COUNT; k++)
            p[k] = (float)values[i];
    }
}

static void *read_on(void *arg)
{
    uint64_t random = (size_t)arg * 77 + 1;
    ferry_queue *own[2] = { NULL, NULL };

    for (int d = 0; d < 2; d++)
        expect(!ferry_queue_create(wx_dev(d), &own[d]));
    for (unsigned phase = 0; phase < phases; phase++) {
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            write_all(phase);
        pthread_barrier_wait(&barrier);
        for (int k = 0; k < PHASE; k++)
            access_once(&random, own);
        atomic_fetch_add(&accesses, PHASE);
    }
    for (int d = 0; d < 2; d++)
        ferry_queue_destroy(own[d]);
    return NULL;
}

static unsigned wanted(void)
{
    if (getenv("FERRY_TEST_VALGRIND"))
        return 20000;
    return getenv("FERRY_TEST_QUICK") ? 100000 : 1000000;
}

static void many_threads_read_the_values_that_one_wrote(void)
{
    pthread_t threads[THREADS];
    int64_t count = COUNT;

    wx_begin();
    atomic_store(&wrong, 0);
    phases = wanted() / (THREADS * PHASE);
    CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < BLOBS; i++)
        FX_OK_FATAL(ferry_blob_create(wx_dev(i % 2), FERRY_F32, &count, 1, &blobs[i]));
    for (size_t i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_on, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < BLOBS; i++)
        ferry_blob_destroy(blobs[i]);
    printf("     %lu accesses of %d threads\n", atomic_load(&accesses), THREADS);
    CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(many_threads_read_the_values_that_one_wrote),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "latency", "5", NULL };
    static const struct wx_world worlds[] = {
        { "real clock", direct, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "readers", worlds, FERRY_TEST_COUNT(worlds));
}
