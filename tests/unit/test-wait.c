/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Calls that must not wait while work is pending; and one that must, because of its effects. */

#define OLD 0x5a
#define NEW 0x77

#define NOWAIT(access) ((access) | FERRY_NOWAIT)

static int access_host(ferry_memory *m, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    return ferry_memory_access(m, NULL, access, NULL, &ref);
}

/* ---- copies --------------------------------------------------------------------------------- */

static void a_host_read_that_would_wait_is_busy(void)
{
    ferry_memory *m;
    ferry_ref ref = { &ref, 3 };

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_mark();
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    CU_ASSERT_EQUAL(wx_since(0).copies_d2h, 0);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_WRITE | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0));
    CU_ASSERT(wx_pending(0) > 0);
    CU_ASSERT_PTR_EQUAL(ref.handle, &ref);
    wx_run_all();
    FX_OK_FATAL(ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(*(unsigned char *)ref.handle, OLD);
    CU_ASSERT_EQUAL(wx_since(0).copies_d2h, 1);
    ferry_memory_release(m);
    wx_end();
}

static void a_host_write_that_would_wait_for_readers_is_busy(void)
{
    ferry_memory *m;
    ferry_ref ref = { &ref, 3 };
    static const unsigned writes[] = { FERRY_WRITE, FERRY_READ | FERRY_WRITE };

    wx_begin();
    m = wx_memory_at_host(OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    FX_OK(ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    for (int i = 0; i < 2; i++) {
        FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, writes[i] | FERRY_NOWAIT, NULL, &ref));
        CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(1));
        CU_ASSERT(wx_pending(1) > 0);
    }
    wx_run_all();
    FX_OK(ferry_memory_access(m, NULL, FERRY_WRITE | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    ferry_memory_release(m);
    wx_end();
}

static void work_that_queues_can_order_is_never_busy(void)
{
    ferry_memory *m;
    ferry_queue *q;
    ferry_ref ref;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at_host(OLD);
    FX_OK(ferry_memory_access(m, wx_dev(0), FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    FX_OK(ferry_memory_access(m, wx_dev(0), FERRY_READ | FERRY_NOWAIT, q, &ref));
    FX_OK(ferry_memory_access(m, wx_dev(0), FERRY_WRITE | FERRY_NOWAIT, q, &ref));
    FX_OK(ferry_memory_access(m, wx_dev(1), FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT(wx_pending(0) > 0 && wx_pending(1) > 0);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

/* ---- bytes that host and device share -------------------------------------------------------- */

/*
 * The access is busy until the work that was pending at the first query is complete, and not for
 * ever.
 */
static void check_busy(ferry_memory *m, unsigned access)
{
    unsigned valid = wx_valid(m);
    uint64_t pending;

    FX_FAILS(FERRY_EBUSY, access_host(m, NOWAIT(access)));
    pending = wx_pending(0);
    CU_ASSERT(pending > 0);
    FX_FAILS(FERRY_EBUSY, access_host(m, NOWAIT(access)));
    CU_ASSERT_EQUAL(wx_pending(0), pending);
    CU_ASSERT_EQUAL(wx_valid(m), valid);
    wx_run_all();
    FX_OK(access_host(m, NOWAIT(access)));
    CU_ASSERT(wx_valid(m) & WX_HOST);
}

static void a_map_that_would_wait_for_the_queue_is_busy(void)
{
    static const unsigned accesses[] = { FERRY_READ, FERRY_READ | FERRY_WRITE, FERRY_WRITE };

    for (int there = 0; there < 2; there++)
        for (int i = 0; i < 3; i++) {
            ferry_memory *m, *other;

            wx_begin();
            m = there ? wx_memory_at(0, OLD) : wx_memory(0);
            other = wx_memory(0);
            wx_write_on(wx_queue(0), other, NEW);
            check_busy(m, accesses[i]);
            ferry_memory_release(m);
            ferry_memory_release(other);
            wx_end();
        }
}

static void a_write_map_after_a_read_map_is_busy_too(void)
{
    ferry_memory *m, *other;

    wx_begin();
    m = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0));
    other = wx_memory(0);
    wx_write_on(wx_queue(0), other, NEW);
    FX_OK(access_host(m, NOWAIT(FERRY_READ))); /* it is mapped already */
    check_busy(m, FERRY_READ | FERRY_WRITE);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    ferry_memory_release(other);
    wx_end();
}

/*
 * The work that was pending at the first query is complete, and more has been submitted, to this
 * queue or another.
 */
static void work_submitted_after_a_busy_access_is_busy_too(void)
{
    for (int i = 0; i < 2; i++) {
        ferry_memory *m, *other;

        wx_begin();
        m = wx_memory(0);
        other = wx_memory(0);
        wx_write_on(wx_queue(0), m, OLD);
        FX_FAILS(FERRY_EBUSY, access_host(m, NOWAIT(FERRY_READ)));
        wx_run_all();
        wx_write_on(wx_queue(0), i ? other : m, NEW);
        check_busy(m, FERRY_READ);
        CU_ASSERT(wx_host_reads(m, i ? OLD : NEW));
        ferry_memory_release(m);
        ferry_memory_release(other);
        wx_end();
    }
}

/* Through the host, whose block is dev0's, from a device without pending work. */
static void a_staged_copy_through_a_block_in_use_is_busy(void)
{
    ferry_ref ref = { NULL, 0 };
    ferry_device *cpu = NULL;
    ferry_memory *m, *other;
    uint64_t pending;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu)) {
        ferry_test_skip("no cpu plugin: %s", ferry_last_error());
        return;
    }
    m = wx_memory_at(0, OLD);
    FX_OK_FATAL(ferry_memory_access(m, cpu, FERRY_WRITE, NULL, &ref));
    memset(ferry_device_pointer(cpu, ref), NEW, WX_BYTES);
    other = wx_memory(0);
    wx_write_on(wx_queue(0), other, OLD);
    pending = wx_pending(0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, wx_dev(1), NOWAIT(FERRY_READ), NULL, &ref));
    CU_ASSERT(wx_pending(0) >= pending);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    ferry_memory_release(m);
    ferry_memory_release(other);
    wx_end();
}

/*
 * The program lends a device's memory read-only. The memory is returned when the default queue has
 * finished with it.
 */
static void adopted_memory_that_is_in_use_is_busy(void)
{
    ferry_memory *m, *lender, *seen;
    ferry_ref ref;
    uint64_t pending;

    wx_begin();
    lender = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    m = wx_memory(0);
    ref = wx_access(lender, wx_queue(0), FERRY_READ | FERRY_WRITE);
    FX_OK_FATAL(ferry_memory_adopt(m, wx_dev(0), ref, WX_BYTES, FERRY_ADOPT_READONLY, NULL, NULL));
    wx_write_host(m, NEW);
    wx_write_on(wx_queue(0), seen, NEW);
    pending = wx_pending(0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, wx_dev(0), NOWAIT(FERRY_READ), NULL, &ref));
    CU_ASSERT(wx_pending(0) >= pending);
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    CU_ASSERT(wx_host_reads(lender, OLD));
    ferry_memory_release(m);
    ferry_memory_release(lender);
    ferry_memory_release(seen);
    wx_end();
}

/*
 * If both sides are valid, the device zeroes the remaining elements and the host then gets its map
 * back, so the call waits for the queue. If only the host is valid, it zeroes them itself.
 */
static void an_access_that_must_fill_a_tail_is_busy(void)
{
    for (int both = 0; both < 2; both++) {
        ferry_memory *m, *other;
        ferry_ref ref = { NULL, 0 };
        ferry_blob *b;

        wx_begin();
        b = wx_blob(8);
        m = ferry_blob_data_memory(b);
        wx_reshape(b, 4);
        wx_put(b, 1);
        if (both)
            wx_access(m, wx_queue(0), FERRY_READ);
        wx_reshape(b, 8);
        other = wx_memory(0);
        wx_write_on(wx_queue(0), other, NEW);
        CU_ASSERT_EQUAL(
            ferry_memory_access(m, both ? wx_dev(0) : NULL, NOWAIT(FERRY_READ), NULL, &ref),
            both ? FERRY_EBUSY : FERRY_OK);
        CU_ASSERT(wx_pending(0) > 0);
        wx_run_all();
        FX_OK(ferry_memory_access(m, both ? wx_dev(0) : NULL, NOWAIT(FERRY_READ), NULL, &ref));
        CU_ASSERT(wx_holds(b, 0, 4, 1));
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[7], 0);
        ferry_blob_destroy(b);
        ferry_memory_release(other);
        wx_end();
    }
}

/* As above, when no queue copies from the memory any more. */
static void adopted_memory_that_a_peer_copies_from_is_busy(void)
{
    ferry_memory *m, *lender;
    ferry_ref ref;

    wx_begin();
    lender = wx_memory_at(0, OLD);
    m = wx_memory(1);
    ref = wx_access(lender, wx_queue(0), FERRY_READ | FERRY_WRITE);
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    FX_OK_FATAL(ferry_memory_adopt(m, wx_dev(0), ref, WX_BYTES, FERRY_ADOPT_READONLY, NULL, NULL));
    wx_access(m, wx_queue(1), FERRY_READ);
    FX_OK(ferry_memory_access(m, NULL, NOWAIT(FERRY_WRITE), NULL, &ref));
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, wx_dev(0), NOWAIT(FERRY_WRITE), NULL, &ref));
    FX_OK(ferry_memory_access(m, wx_dev(0), FERRY_WRITE, NULL, &ref));
    CU_ASSERT(wx_host_reads(lender, OLD));
    ferry_memory_release(m);
    ferry_memory_release(lender);
    wx_end();
}

static _Alignas(64) unsigned char own[WX_BYTES];

/*
 * A memory whose host block no device has imported: the import came late, when both had blocks of
 * their own.
 */
static ferry_memory *unshared(void)
{
    ferry_memory *m = wx_memory(0);

    memset(own, OLD, sizeof(own));
    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ own, 0 }, WX_BYTES, FERRY_ADOPT_READONLY, NULL,
                             NULL));
    wx_access(m, wx_queue(1), FERRY_READ);
    wx_access(m, wx_queue(0), FERRY_READ | FERRY_WRITE);
    CU_ASSERT(wx_host_reads(m, OLD));
    FX_OK(ferry_memory_allow_eviction(m));
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    return m;
}

static void an_import_waits_for_copies_from_the_hosts_block(void)
{
    ferry_memory *m, *seen;
    ferry_ref ref;

    wx_begin();
    m = unshared();
    seen = wx_memory(1);
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    wx_read_on(wx_queue(1), m, seen);
    wx_access(m, wx_queue(1), FERRY_READ | FERRY_WRITE);
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(1));
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, wx_dev(0), NOWAIT(FERRY_WRITE), NULL, &ref));
    wx_mark();
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_EQUAL(wx_since(0).allocs, 0); /* it was imported */
    wx_run_all();
    CU_ASSERT(wx_host_reads(seen, OLD));
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    ferry_memory_release(seen);
    wx_end();
}

/* ---- other threads --------------------------------------------------------------------------- */

static void *read_it(void *m)
{
    return (void *)ferry_memory_host_data(m);
}

/* The device's clock does not advance, and the reader waits for its copy. */
static void an_access_during_the_wait_of_another_thread_is_busy(void)
{
    ferry_memory *m;
    pthread_t reader;
    uint64_t copies;
    void *p = NULL;

    wx_begin();
    m = wx_memory_at(0, OLD);
    copies = wx_calls(0, SIM_CALL_MEMCPY);
    wx_hold(0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_it, m), 0);
    while (wx_calls(0, SIM_CALL_MEMCPY) == copies)
        usleep(1000);
    FX_FAILS(FERRY_EBUSY, access_host(m, NOWAIT(FERRY_READ)));
    CU_ASSERT_FALSE(ferry_memory_is_valid_at(m, NULL)); /* the other one still waits */
    wx_let_go(0);
    pthread_join(reader, &p);
    CU_ASSERT_PTR_NOT_NULL(p);
    FX_OK(access_host(m, NOWAIT(FERRY_READ)));
    ferry_memory_release(m);
    wx_end();
}

static void *overwrite_it(void *m)
{
    (void)access_host(m, FERRY_WRITE);
    return NULL;
}

/* The map waits for an operation that does not complete, and holds the queue meanwhile. */
static void an_access_during_the_map_of_another_thread_is_busy(void)
{
    ferry_memory *m, *other, *busy;
    pthread_t thread;
    uint64_t maps;
    int err = 0;

    wx_begin();
    m = wx_memory_at(0, OLD);
    other = wx_memory_at(0, OLD);
    busy = wx_memory(0);
    maps = wx_calls(0, SIM_CALL_MAP);
    wx_hold(0);
    wx_write_on(wx_queue(0), busy, NEW);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, overwrite_it, m), 0);
    while (wx_calls(0, SIM_CALL_MAP) == maps)
        usleep(1000);
    FX_FAILS(FERRY_EBUSY, access_host(other, NOWAIT(FERRY_READ)));
    wx_let_go(0);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    for (int i = 0; i < 10000 && (err = access_host(other, NOWAIT(FERRY_READ))) == FERRY_EBUSY; i++)
        usleep(1000);
    FX_OK(err);
    ferry_memory_release(m);
    ferry_memory_release(other);
    ferry_memory_release(busy);
    wx_end();
}

/* ---- fallbacks ------------------------------------------------------------------------------- */

static void a_failed_fallback_waits_for_its_copies(void)
{
    ferry_memory *x, *y;
    ferry_cref at_x, at_y;
    double sum = 7;

    wx_begin();
    x = wx_memory_at(0, OLD);
    y = wx_memory_at(0, OLD);
    at_x = ferry_ref_const(wx_access(x, wx_queue(0), FERRY_READ));
    at_y = ferry_ref_const(wx_access(y, wx_queue(0), FERRY_READ));
    wx_fail_next(0, SIM_CALL_MEMCPY, 2, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_math_dot(wx_queue(0), FERRY_F32, WX_BYTES / 4, at_x, at_y, &sum));
    CU_ASSERT_EQUAL(wx_pending(0), 0);
    CU_ASSERT_EQUAL(sum, 7);
    ferry_memory_release(x);
    ferry_memory_release(y);
    wx_end();
}

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(a_map_that_would_wait_for_the_queue_is_busy),
    FERRY_TEST(a_write_map_after_a_read_map_is_busy_too),
    FERRY_TEST(an_import_waits_for_copies_from_the_hosts_block),
    FERRY_TEST(work_submitted_after_a_busy_access_is_busy_too),
    FERRY_TEST(a_staged_copy_through_a_block_in_use_is_busy),
    FERRY_TEST(adopted_memory_that_is_in_use_is_busy),
    FERRY_TEST(an_access_that_must_fill_a_tail_is_busy),
};

static const ferry_test_case held_cases[] = {
    FERRY_TEST(an_access_during_the_wait_of_another_thread_is_busy),
};

static const ferry_test_case map_cases[] = {
    FERRY_TEST(an_access_during_the_map_of_another_thread_is_busy),
};

static const ferry_test_case minimal_cases[] = {
    FERRY_TEST(a_failed_fallback_waits_for_its_copies),
};

static const ferry_test_case discrete_cases[] = {
    FERRY_TEST(a_host_read_that_would_wait_is_busy),
    FERRY_TEST(a_host_write_that_would_wait_for_readers_is_busy),
    FERRY_TEST(work_that_queues_can_order_is_never_busy),
    FERRY_TEST(adopted_memory_that_a_peer_copies_from_is_busy),
};

int main(int argc, char **argv)
{
    static const char *const discrete[] = { "clock", "manual", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const maps[] = { "unified", "on", NULL };
    static const char *const minimal[] = { "clock", "manual", "ops", "minimal", NULL };
    static const struct wx_world worlds[] = {
        { "discrete", discrete, discrete_cases, FERRY_TEST_COUNT(discrete_cases) },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "devices that stand still", NULL, held_cases, FERRY_TEST_COUNT(held_cases) },
        { "devices that stand still, shared memory", maps, map_cases, FERRY_TEST_COUNT(map_cases) },
        { "minimal", minimal, minimal_cases, FERRY_TEST_COUNT(minimal_cases) },
    };

    return wx_main(argc, argv, "wait", worlds, FERRY_TEST_COUNT(worlds));
}
