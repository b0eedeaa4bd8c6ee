/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include "core/device/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Work that was accepted and fails when it runs: the copies that it invalidates, and those that it
 * does not; and lost contents stay lost.
 */

#define OLD   0x5a
#define NEW   0x77
#define COUNT 1024

static ferry_blob *blob_on(int i)
{
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_create(wx_dev(i), FERRY_F32, (int64_t[]){ COUNT }, 1, &b),
                          FERRY_OK);
    return b;
}

/* A blob whose data and diff are on its device, done, with those values. */
static ferry_blob *filled(int i, double data, double diff)
{
    ferry_blob *b = blob_on(i);

    FX_OK(ferry_blob_fill_data(b, data));
    FX_OK(ferry_blob_fill_diff(b, diff));
    FX_OK(ferry_device_synchronize(wx_dev(i)));
    return b;
}

static bool all_are(const float *p, float value)
{
    for (int i = 0; p && i < COUNT; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

/* Checks that from now on every accessor and every reduction reports the loss. */
static void check_lost(ferry_blob *b)
{
    double sum = -1;
    ferry_ref ref = { &sum, 0 };

    for (int i = 0; i < 2; i++) {
        FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
        FX_FAILED(FERRY_ELOST, !ferry_blob_device_data(b).handle);
        FX_FAILED(FERRY_ELOST, !ferry_blob_mutable_host_data(b));
        FX_FAILED(FERRY_ELOST, !ferry_blob_mutable_device_data(b).handle);
        FX_FAILS(FERRY_ELOST, ferry_blob_asum_data(b, &sum));
        FX_FAILS(FERRY_ELOST, ferry_blob_sumsq_data(b, &sum));
        FX_FAILS(FERRY_ELOST, ferry_blob_scale_data(b, 2));
        FX_FAILS(FERRY_ELOST, ferry_blob_update(b));
        FX_FAILS(FERRY_ELOST, ferry_blob_data_at(b, (int64_t[]){ 0 }, 1, &sum));
        FX_FAILS(FERRY_ELOST, ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(1), NULL));
        FX_FAILS(FERRY_ELOST,
                 ferry_memory_access(ferry_blob_data_memory(b), wx_dev(1), FERRY_READ, NULL, &ref));
        FX_FAILS(FERRY_ELOST,
                 ferry_memory_record(ferry_blob_data_memory(b), wx_queue(0), FERRY_READ));
    }
    CU_ASSERT_EQUAL(sum, -1);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), 0);
    FX_OK(ferry_blob_fill_data(b, 4));
    CU_ASSERT(all_are(ferry_blob_host_data(b), 4));
}

/* ---- arithmetic on blobs -------------------------------------------------------------------- */

static void a_failed_fill_invalidates_only_its_blob(void)
{
    ferry_blob *a, *b;

    wx_begin();
    a = blob_on(0);
    b = filled(0, 3, 0);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_fill_data(a, 1));
    CU_ASSERT(all_are(ferry_blob_host_data(b), 3));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(a));
    check_lost(a);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_HOST | WX_DEV(0));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    wx_end();
}

static int op_scale(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_scale_data(b, 2);
}

static int op_update(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_update(b);
}

static int op_fill(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_fill_data(b, 7);
}

static int op_copy_from(ferry_blob *b, ferry_blob *other)
{
    return ferry_blob_copy_from(b, other, 0);
}

typedef int (*blob_op)(ferry_blob *b, ferry_blob *other);
static const blob_op ops[] = { op_scale, op_update, op_fill, op_copy_from };

/* The first call that reports the failed work. */
static int seen_on_host(ferry_blob *b)
{
    return ferry_blob_host_data(b) ? 0 : ferry_last_error_code();
}

static int seen_on_device(ferry_blob *b)
{
    ferry_ref ref;

    wx_run_all();
    return ferry_memory_access(ferry_blob_data_memory(b), wx_dev(0), FERRY_READ, NULL, &ref);
}

static int seen_on_another(ferry_blob *b)
{
    const unsigned reads = FERRY_READ;
    ferry_ref ref;
    int err = ferry_memory_access(ferry_blob_data_memory(b), wx_dev(1), reads, NULL, &ref);

    wx_run_all();
    return err ? err : ferry_memory_access(ferry_blob_data_memory(b), wx_dev(1), reads, NULL, &ref);
}

static int seen_by_a_sum(ferry_blob *b)
{
    double sum;

    return ferry_blob_asum_data(b, &sum);
}

typedef int (*view)(ferry_blob *b);
static const view views[] = { seen_on_host, seen_on_device, seen_on_another, seen_by_a_sum };

static void failed_arithmetic_is_reported_by_every_read(void)
{
    ferry_blob *b, *other, *bystander;

    wx_begin();
    bystander = filled(0, 5, 6);
    other = filled(0, 8, 9);
    for (size_t op = 0; op < FERRY_TEST_COUNT(ops); op++)
        for (size_t v = 0; v < FERRY_TEST_COUNT(views); v++) {
            b = filled(0, 1, 2);
            wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
            FX_OK(ops[op](b, other));
            FX_OK(ferry_blob_scale_data(bystander, 1));
            FX_FAILS(FERRY_ELOST, views[v](b));
            check_lost(b);
            CU_ASSERT(all_are(ferry_blob_host_data(bystander), 5));
            ferry_blob_destroy(b);
        }
    ferry_blob_destroy(other);
    ferry_blob_destroy(bystander);
    wx_end();
}

/* A result computed from a copy that failed has failed as well. */
static void arithmetic_on_a_failed_copy_fails_too(void)
{
    ferry_blob *b;
    float *diff;

    wx_begin();
    b = filled(0, 1, 2);
    diff = ferry_blob_overwrite_host_diff(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
    memset(diff, 0, COUNT * sizeof *diff);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_update(b));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    CU_ASSERT(all_are(ferry_blob_host_diff(b), 0));
    check_lost(b);
    ferry_blob_destroy(b);
    wx_end();
}

static void the_failure_of_one_of_many_scales_loses_the_result(void)
{
    ferry_blob *b;

    wx_begin();
    b = filled(0, 1, 2);
    wx_fail_later(0, SIM_CALL_OP, 5, FERRY_EDEVICE);
    for (int i = 0; i < 20; i++)
        FX_OK(ferry_blob_scale_data(b, 1));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    check_lost(b);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- data that are lost ---------------------------------------------------------------------- */

static ferry_blob *lost_blob(void)
{
    ferry_blob *b = filled(0, 1, 2);

    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_scale_data(b, 2));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    return b;
}

/*
 * A fill that can be undone keeps the old contents until it is accepted; afterwards they are
 * dropped.
 */
static void a_fill_of_a_longer_blob_survives_the_loss_of_old_contents(void)
{
    const float *p;
    ferry_blob *b;

    wx_begin();
    b = wx_blob(48);
    wx_reshape(b, 12);
    wx_put(b, 1);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    wx_reshape(b, 48);
    FX_OK(ferry_blob_fill_data(b, 40));
    p = ferry_blob_host_data(b);
    CU_ASSERT(p && p[0] == 40 && p[47] == 40);
    (void)ferry_device_synchronize(
        wx_dev(0)); /* which reports the copy: no other call should */
    ferry_blob_destroy(b);
    wx_end();
}

static void a_refused_fill_does_not_restore_lost_contents(void)
{
    ferry_blob *b;

    wx_begin();
    b = lost_blob();
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_fill_data(b, 7));
    check_lost(b);
    ferry_blob_destroy(b);
    wx_end();
}

static void a_lost_source_or_diff_does_not_read_as_zeros(void)
{
    ferry_blob *lost, *b, *slice = NULL;

    wx_begin();
    lost = lost_blob();
    b = filled(0, 1, 2);
    FX_FAILS(FERRY_ELOST, ferry_blob_copy_from(b, lost, 0));
    CU_ASSERT(all_are(ferry_blob_host_data(b), 1));
    FX_OK_FATAL(ferry_blob_slice(lost, 0, COUNT / 2, &slice));
    FX_FAILS(FERRY_ELOST, ferry_blob_fill_data(slice, 1)); /* the remaining elements cannot be
                                                            * kept */
    ferry_blob_destroy(slice);
    check_lost(lost);
    ferry_blob_destroy(lost);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- the program's own ---------------------------------------------------------------------- */

static int read_on_host(ferry_memory *m)
{
    ferry_ref ref;

    return ferry_memory_access(m, NULL, FERRY_READ, NULL, &ref);
}

/* Stray work: reported to the host once, and the copies after it are not invalidated. */
static void a_failed_kernel_of_the_program_invalidates_no_copy_of_ferry(void)
{
    ferry_memory *m, *other;
    ferry_blob *b;
    ferry_ref ref;

    wx_begin();
    m = wx_memory_at(0, OLD);
    other = wx_memory_at_host(NEW);
    b = filled(0, 3, 0);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    FX_OK(ferry_memory_access(other, wx_dev(0), FERRY_READ | FERRY_WRITE, NULL, &ref));
    FX_OK(ferry_blob_scale_data(b, 2));
    wx_run_all();
    FX_FAILS(FERRY_EDEVICE, read_on_host(m));
    FX_OK(read_on_host(m));
    CU_ASSERT(wx_host_reads(other, NEW));
    CU_ASSERT(all_are(ferry_blob_host_data(b), 6));
    ferry_memory_release(m);
    ferry_memory_release(other);
    ferry_blob_destroy(b);
    wx_end();
}

/*
 * On a queue of its own, the program's work is recorded: a later copy by ferry on that queue does
 * not hide its failure.
 */
static void a_failed_kernel_on_another_queue_is_reported_after_a_copy(void)
{
    ferry_memory *m, *other;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    other = wx_memory_at_host(NEW);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(q, m, NEW);
    FX_OK(ferry_memory_prefetch(other, wx_dev(0), q));
    wx_run_all();
    CU_ASSERT(read_on_host(m) < 0);
    CU_ASSERT(wx_reads_on(wx_queue(0), other, NEW));
    CU_ASSERT_EQUAL(wx_valid(other), WX_HOST | WX_DEV(0));
    ferry_memory_release(m);
    ferry_memory_release(other);
    ferry_queue_destroy(q);
    wx_end();
}

/*
 * A synchronize reports failed work, and the event after it reports the failure too, because
 * another thread's wait for the queue is not part of a section.
 */
static void a_synchronize_does_not_clear_the_failure_of_a_section(void)
{
    ferry_memory *m;
    ferry_event *e;
    ferry_ref at;

    wx_begin();
    m = wx_memory_at(0, OLD);
    at = wx_access(m, wx_queue(0), FERRY_READ | FERRY_WRITE);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_queue_begin(wx_queue(0)));
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, COUNT, 7, at));
    CU_ASSERT_EQUAL(ferry__queue_settle(wx_dev(0), NULL), FERRY_EDEVICE);
    FX_OK(ferry_queue_end(wx_queue(0), &e));
    FX_OK(ferry_memory_record_all(&(ferry_memory_use){ m, FERRY_READ | FERRY_WRITE }, 1,
                                  wx_queue(0), e));
    ferry_event_destroy(e);
    FX_FAILS(FERRY_ELOST, read_on_host(m));
    ferry_memory_release(m);
    wx_end();
}

/* One synchronize reports a failure of stray work; the next one and later accesses do not. */
static void synchronize_reports_a_failure_of_the_program_once(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    for (int whole = 0; whole < 2; whole++) {
        wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
        wx_write_on(wx_queue(0), m, NEW);
        FX_FAILS(FERRY_EDEVICE, whole ? ferry_device_synchronize(wx_dev(0))
                                      : ferry_queue_synchronize(wx_queue(0)));
        FX_OK(ferry_queue_synchronize(wx_queue(0)));
        FX_OK(ferry_device_synchronize(wx_dev(0)));
        FX_OK(read_on_host(m));
    }
    ferry_memory_release(m);
    wx_end();
}

/* ---- data that are kept ---------------------------------------------------------------------- */

/*
 * Alternating queues: the next queue need not wait for the work that the previous one waited for.
 */
static void writes_on_many_queues_wait_for_one_queue_each(void)
{
    enum { QUEUES = 400 };
    static ferry_queue *q[QUEUES];
    ferry_memory *m;
    uint64_t waits, marks;

    wx_begin();
    for (int i = 0; i < QUEUES; i++)
        q[i] = wx_queue_create(0);
    m = wx_memory(0);
    waits = wx_calls(0, SIM_CALL_WAIT);
    marks = wx_calls(0, SIM_CALL_EVENT);
    for (int i = 0; i < QUEUES; i++)
        wx_write_on(q[i], m, (unsigned char)i);
    CU_ASSERT(wx_calls(0, SIM_CALL_WAIT) - waits <= 4 * QUEUES);
    CU_ASSERT(wx_calls(0, SIM_CALL_EVENT) - marks <= 4 * QUEUES);
    CU_ASSERT(wx_host_reads(m, (QUEUES - 1) & 255));
    ferry_memory_release(m);
    for (int i = 0; i < QUEUES; i++)
        ferry_queue_destroy(q[i]);
    wx_end();
}

/* Evicted contents are on the host, without pending work. */
static void an_evicted_memory_keeps_no_event(void)
{
    ferry_memory *m[20];
    uint64_t had;

    wx_begin();
    had = wx_counters(0).live_events;
    for (int i = 0; i < 20; i++) {
        m[i] = wx_memory_at(0, (unsigned char)i);
        if (i % 2)
            FX_OK(ferry_memory_prefetch(m[i], NULL, NULL));
        FX_OK(ferry_memory_allow_eviction(m[i]));
    }
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    FX_OK(ferry_device_trim(wx_dev(0)));
    wx_run_all();
    CU_ASSERT_EQUAL(wx_since(0).evictions, 20);
    CU_ASSERT_EQUAL(wx_counters(0).live_events, had);
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    for (int i = 0; i < 20; i++) {
        CU_ASSERT(wx_host_reads(m[i], (unsigned char)i));
        ferry_memory_release(m[i]);
    }
    wx_end();
}

/* ---- threads on one queue -------------------------------------------------------------------- */

#define THREADS 4

/* A thread has that many rounds, of at least two operations each, before it fails another one. */
#define APART 8

static atomic_int wrong, told, failed;

/*
 * Makes the seventh operation from here on fail, whichever thread submits it. The first thread
 * calls this, and then performs more operations than that.
 */
static void have_one_fail(void)
{
    wx_fail_later(0, SIM_CALL_OP, 7, FERRY_EDEVICE);
    atomic_fetch_add(&failed, 1);
}

/* Filled, changed and read: the host reads the right values or gets an error. */
static void *compute(void *arg)
{
    int rounds = ferry_test_is_slow() ? 100 : 1000;

    for (int i = 0; i < rounds; i++) {
        float value = (float)((size_t)arg * 1000 + (size_t)i);
        ferry_blob *b = NULL;
        double sum = 0;

        if (!arg && i % APART == 0 && i + APART <= rounds)
            have_one_fail();
        if (ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ COUNT }, 1, &b))
            break;
        if (ferry_blob_fill_data(b, value) || ferry_blob_scale_data(b, 2) ||
            (i % 2 && ferry_blob_asum_data(b, &sum)) || !ferry_blob_host_data(b))
            atomic_fetch_add(&told, 1);
        else if (!all_are(ferry_blob_host_data(b), 2 * value) ||
                 (i % 2 && sum != 2.0 * value * COUNT))
            atomic_fetch_add(&wrong, 1);
        ferry_blob_destroy(b);
    }
    return NULL;
}

/*
 * No thread reads a wrong value, and the number of reported failures does not exceed the failed
 * operations.
 */
static void each_thread_on_a_shared_queue_gets_only_the_failures_of_its_work(void)
{
    pthread_t threads[THREADS];

    wx_begin();
    for (size_t i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, compute, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wx_fail_later(0, SIM_CALL_OP, 0, 0);
    CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
    CU_ASSERT(atomic_load(&told) > atomic_load(&failed) / 2);
    CU_ASSERT(atomic_load(&told) <= atomic_load(&failed));
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_failed_fill_invalidates_only_its_blob),
    FERRY_TEST(failed_arithmetic_is_reported_by_every_read),
    FERRY_TEST(arithmetic_on_a_failed_copy_fails_too),
    FERRY_TEST(the_failure_of_one_of_many_scales_loses_the_result),
    FERRY_TEST(a_fill_of_a_longer_blob_survives_the_loss_of_old_contents),
    FERRY_TEST(a_refused_fill_does_not_restore_lost_contents),
    FERRY_TEST(a_lost_source_or_diff_does_not_read_as_zeros),
    FERRY_TEST(a_failed_kernel_of_the_program_invalidates_no_copy_of_ferry),
    FERRY_TEST(a_failed_kernel_on_another_queue_is_reported_after_a_copy),
    FERRY_TEST(a_synchronize_does_not_clear_the_failure_of_a_section),
    FERRY_TEST(synchronize_reports_a_failure_of_the_program_once),
    FERRY_TEST(writes_on_many_queues_wait_for_one_queue_each),
    FERRY_TEST(an_evicted_memory_keeps_no_event),
};

/* ---- data that are no longer needed ---------------------------------------------------------- */

/*
 * A copy to the host is pending, from a device whose queue no other plugin can wait for, when the
 * cpu overwrites everything: the failure of that copy must not affect later copies to the host.
 */
static void an_earlier_copy_to_the_same_place_may_fail(void)
{
    ferry_device *cpu = NULL;
    ferry_memory *m;
    ferry_ref ref = { NULL, 0 };

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu)) {
        ferry_test_skip("no cpu plugin: %s", ferry_last_error());
        return;
    }
    m = wx_memory(0);
    wx_write_host(m, OLD); /* in a block that dev0 has imported, so that the cpu has another */
    wx_write_on(wx_queue(1), m, OLD);
    wx_run_all();
    wx_fail_later(1, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    FX_OK_FATAL(ferry_memory_access(m, cpu, FERRY_WRITE, NULL, &ref));
    memset(ferry_device_pointer(cpu, ref), NEW, WX_BYTES);
    CU_ASSERT(wx_pending(1) > 0);
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    wx_end();
}

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(an_earlier_copy_to_the_same_place_may_fail),
};

static const ferry_test_case thread_cases[] = {
    FERRY_TEST(each_thread_on_a_shared_queue_gets_only_the_failures_of_its_work),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static const char *const real[] = { "clock", "real", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "manual clock", manual, cases, FERRY_TEST_COUNT(cases) },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "threads", real, thread_cases, FERRY_TEST_COUNT(thread_cases) },
    };

    return wx_main(argc, argv, "late", worlds, FERRY_TEST_COUNT(worlds));
}
