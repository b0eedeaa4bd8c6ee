/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Threads: distinct blobs at once, and many readers of one blob. CUnit's assertions are not
 * thread-safe: the workers count errors, and the case checks the sum.
 */

#define THREADS 8
#define COUNT   1000

static pthread_barrier_t barrier;
static atomic_int wrong;
static ferry_device *device;
static ferry_blob *shared;

static int rounds(int n)
{
    return ferry_test_is_slow() ? n / 10 : n;
}

static void expect(bool condition)
{
    if (!condition)
        atomic_fetch_add(&wrong, 1);
}

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];

    atomic_store(&wrong, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
}

/* ---- distinct blobs ------------------------------------------------------------------------- */

static bool all_are(const ferry_blob *b, float value)
{
    const float *p = ferry_blob_host_data(b);

    for (int64_t i = 0; p && i < ferry_blob_element_count(b); i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

/* The life of one blob: written on the host, changed on the device, summed, copied back. */
static void live_once(float value)
{
    ferry_blob *b = NULL;
    double sum = 0;
    float *p;

    expect(ferry_blob_create(device, FERRY_F32, (int64_t[]){ COUNT }, 1, &b) == 0);
    p = ferry_blob_overwrite_host_data(b);
    expect(p != NULL);
    for (int i = 0; p && i < COUNT; i++)
        p[i] = value;
    expect(ferry_blob_mutable_device_data(b).handle != NULL);
    expect(ferry_blob_fill_diff(b, 1) == 0);
    expect(ferry_blob_update(b) == 0);
    expect(ferry_blob_asum_data(b, &sum) == 0);
    expect(sum == (value - 1) * COUNT);
    expect(all_are(b, value - 1));
    expect(ferry_blob_reshape(b, (int64_t[]){ 2 * COUNT }, 1, NULL) == 0);
    expect(all_are(b, 0));
    ferry_blob_destroy(b);
}

static void *live_many_lives(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < rounds(300); i++)
        live_once((float)((size_t)arg * 100 + (size_t)i + 2));
    return NULL;
}

static void threads_use_distinct_blobs_without_a_lock(void)
{
    device = fx_device();
    run_threads(live_many_lives);
    fx_end();
}

/* ---- one blob ------------------------------------------------------------------------------- */

static void *read_on_the_device(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    expect(ferry_blob_device_data(shared).handle != NULL);
    return NULL;
}

static void *read_on_the_host(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    expect(all_are(shared, 3));
    return NULL;
}

static void *read_on_either_side(void *arg)
{
    return (size_t)arg % 2 ? read_on_the_device(arg) : read_on_the_host(arg);
}

static void concurrent_readers_cause_one_copy(void)
{
    device = fx_device();
    shared = FX_BLOB(FERRY_F32, COUNT);
    for (int i = 0; i < rounds(100); i++) {
        FX_OK(ferry_blob_fill_data(shared, 3));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(shared));
        fx_mark();
        run_threads(read_on_the_device);
        CU_ASSERT_EQUAL(fx_since().copies_h2d, fx_price(1));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(shared).handle);
        fx_mark();
        run_threads(read_on_the_host);
        CU_ASSERT_EQUAL(fx_since().copies_d2h, fx_price(1));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(shared).handle);
        fx_mark();
        run_threads(read_on_either_side);
        CU_ASSERT_EQUAL(fx_copies(), fx_price(1));
    }
    ferry_blob_destroy(shared);
    fx_end();
}

static void *read_zeros(void *arg)
{
    pthread_barrier_wait(&barrier);
    if ((size_t)arg % 2)
        expect(ferry_blob_device_data(shared).handle != NULL);
    else
        expect(all_are(shared, 0));
    return NULL;
}

static void first_readers_of_a_fresh_blob_agree_on_zeros(void)
{
    device = fx_device();
    for (int i = 0; i < rounds(100); i++) {
        shared = FX_BLOB(FERRY_F32, COUNT);
        run_threads(read_zeros);
        ferry_blob_destroy(shared);
    }
    fx_end();
}

static void *read_settled(void *arg)
{
    const void *first = ferry_blob_host_data(shared);

    (void)arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < rounds(100000); i++)
        expect(ferry_blob_host_data(shared) == first);
    return NULL;
}

static void settled_readers_get_one_pointer(void)
{
    device = fx_device();
    shared = FX_BLOB(FERRY_F32, COUNT);
    FX_OK(ferry_blob_fill_data(shared, 3));
    run_threads(read_settled);
    ferry_blob_destroy(shared);
    fx_end();
}

static void *first_touch_of_the_diff(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    expect(ferry_blob_host_diff(shared) != NULL);
    expect(ferry_blob_diff_memory(shared) != NULL);
    return NULL;
}

static void concurrent_first_readers_of_a_diff_agree(void)
{
    device = fx_device();
    for (int i = 0; i < rounds(100); i++) {
        shared = FX_BLOB(FERRY_F32, COUNT);
        run_threads(first_touch_of_the_diff);
        ferry_blob_destroy(shared);
    }
    fx_end();
}

static void *fail_in_this_thread(void *arg)
{
    char expected[16];

    (void)arg;
    pthread_barrier_wait(&barrier);
    expect(ferry_last_error_code() == FERRY_OK);
    memset(expected, 0, sizeof(expected));
    expect(ferry_blob_shape_string(shared, expected, 1) == FERRY_EOVERFLOW);
    expect(ferry_last_error_code() == FERRY_EOVERFLOW);
    return NULL;
}

static void each_thread_has_its_own_latest_error(void)
{
    device = fx_device();
    shared = FX_BLOB(FERRY_F32, COUNT);
    FX_FAILS(FERRY_EINVAL, ferry_blob_move_to(shared, NULL));
    run_threads(fail_in_this_thread);
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EINVAL);
    ferry_blob_destroy(shared);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(threads_use_distinct_blobs_without_a_lock),
    FERRY_TEST(concurrent_readers_cause_one_copy),
    FERRY_TEST(first_readers_of_a_fresh_blob_agree_on_zeros),
    FERRY_TEST(settled_readers_get_one_pointer),
    FERRY_TEST(concurrent_first_readers_of_a_diff_agree),
    FERRY_TEST(each_thread_has_its_own_latest_error),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "threads", cases, FERRY_TEST_COUNT(cases));
}
