/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <string.h>

/*
 * Order of work on two devices whose clock only advances when a test steps it: if a wait is
 * missing, dependent work runs too early, and the bytes show it.
 */

#define OLD 0x5a
#define NEW 0x77

/* ---- readers and writers on queues of one device -------------------------------------------- */

static void a_reader_on_another_queue_waits_for_the_copys_writer(void)
{
    ferry_memory *m, *seen;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at_host(NEW);
    seen = wx_memory(0);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), q));
    wx_read_on(wx_queue(0), m, seen);
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
    CU_ASSERT(wx_host_reads(seen, NEW));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void a_reader_on_another_queue_waits_for_a_kernel_that_writes(void)
{
    ferry_memory *m, *seen;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    wx_write_on(wx_queue(0), m, NEW);
    wx_read_on(q, m, seen);
    CU_ASSERT_FALSE(wx_idle(q));
    CU_ASSERT(wx_host_reads(seen, NEW));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void readers_do_not_wait_for_one_another(void)
{
    ferry_memory *m, *seen[2];
    ferry_queue *q[2];

    wx_begin();
    m = wx_memory_at(0, OLD);
    for (int i = 0; i < 2; i++) {
        q[i] = wx_queue_create(0);
        seen[i] = wx_memory(0);
        wx_read_on(q[i], m, seen[i]);
    }
    wx_run_queue(wx_queue(0));
    CU_ASSERT(wx_idle(q[1]));
    CU_ASSERT_FALSE(wx_pending(0) == 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(wx_host_reads(seen[i], OLD));
        ferry_memory_release(seen[i]);
        ferry_queue_destroy(q[i]);
    }
    ferry_memory_release(m);
    wx_end();
}

/*
 * Two readers on queues of their own, and then `act`, which must not change the copy before they
 * have read it.
 */
static void after_two_readers(void (*act)(ferry_memory *m))
{
    ferry_memory *m, *seen[2];
    ferry_queue *q[2];

    wx_begin();
    m = wx_memory_at(0, OLD);
    for (int i = 0; i < 2; i++) {
        q[i] = wx_queue_create(0);
        seen[i] = wx_memory(0);
        wx_read_on(q[i], m, seen[i]);
    }
    act(m);
    wx_run_queue(wx_queue(0));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(wx_host_reads(seen[i], OLD));
        ferry_memory_release(seen[i]);
        ferry_queue_destroy(q[i]);
    }
    ferry_memory_release(m);
    wx_end();
}

static void write_on_default(ferry_memory *m)
{
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
}

static void a_writer_waits_for_all_readers(void)
{
    after_two_readers(write_on_default);
}

static void change_on_default(ferry_memory *m)
{
    ferry_ref ref = wx_access(m, wx_queue(0), FERRY_READ | FERRY_WRITE);

    FX_OK(ferry_math_fill(wx_queue(0), FERRY_U8, WX_BYTES, NEW, ref));
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
}

static void a_mutable_access_waits_for_all_readers(void)
{
    after_two_readers(change_on_default);
}

static void copy_in_on_default(ferry_memory *m)
{
    wx_write_host(m, NEW);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    wx_access(m, wx_queue(0), FERRY_READ);
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
}

static void a_copy_into_a_stale_replica_waits_for_its_readers(void)
{
    after_two_readers(copy_in_on_default);
}

/*
 * The block is released and allocated again with the same size: the new owner must not write it
 * before the readers have finished.
 */
static void free_and_reuse(ferry_memory *m)
{
    ferry_memory *other;

    ferry_memory_release(ferry_memory_retain(m));
    other = wx_memory(0);
    wx_write_on(wx_queue(0), other, NEW);
    wx_run_queue(wx_queue(0));
    ferry_memory_release(other);
}

static void work_on_another_memory_does_not_delay_readers(void)
{
    after_two_readers(free_and_reuse);
}

static void a_free_waits_for_all_readers(void)
{
    ferry_memory *m, *seen[2], *other;
    ferry_queue *q[2];

    wx_begin();
    m = wx_memory_at(0, OLD);
    for (int i = 0; i < 2; i++) {
        q[i] = wx_queue_create(0);
        seen[i] = wx_memory(0);
        wx_read_on(q[i], m, seen[i]);
    }
    ferry_memory_release(m);
    other = wx_memory(0);
    wx_write_on(wx_queue(0), other, NEW);
    wx_run_queue(wx_queue(0));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(wx_host_reads(seen[i], OLD));
        ferry_memory_release(seen[i]);
        ferry_queue_destroy(q[i]);
    }
    CU_ASSERT(wx_host_reads(other, NEW));
    ferry_memory_release(other);
    wx_end();
}

static void a_stale_replica_is_kept_for_the_default_queues_readers(void)
{
    ferry_memory *m, *seen;
    ferry_queue *q;
    ferry_ref to;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    to = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_math_copy(wx_queue(0), FERRY_U8, WX_BYTES, ferry_memory_device_data(m), to));
    wx_write_host(m, NEW);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), q));
    CU_ASSERT_FALSE(wx_idle(q));
    CU_ASSERT(wx_host_reads(seen, OLD));
    CU_ASSERT(wx_reads_on(q, m, NEW));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

/*
 * Work after the plain accessor is not announced, so ferry can only know it by the default queue:
 * work submitted there before the replica became invalid is complete before the block is reused.
 */
static void a_freed_replica_waits_for_the_default_queues_readers(void)
{
    ferry_memory *m, *seen, *other;
    ferry_queue *q;
    ferry_ref to;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    to = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_math_copy(wx_queue(0), FERRY_U8, WX_BYTES, ferry_memory_device_data(m), to));
    wx_write_host(m, NEW);
    ferry_memory_release(m);
    other = wx_memory(0);
    wx_write_on(q, other, NEW);
    wx_run_queue(q);
    CU_ASSERT(wx_host_reads(seen, OLD));
    CU_ASSERT(wx_host_reads(other, NEW));
    ferry_memory_release(seen);
    ferry_memory_release(other);
    ferry_queue_destroy(q);
    wx_end();
}

/* ---- work that ferry has not seen ----------------------------------------------------------- */

static void a_recorded_reader_is_waited_for(void)
{
    ferry_memory *m, *seen;
    ferry_queue *q;
    ferry_cref from;
    ferry_ref to;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    from = ferry_memory_device_data(m);
    to = wx_access(seen, q, FERRY_WRITE);
    FX_OK(ferry_math_copy(q, FERRY_U8, WX_BYTES, from, to));
    FX_OK(ferry_memory_record(m, q, FERRY_READ));
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
    CU_ASSERT(wx_host_reads(seen, OLD));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void a_recorded_writer_is_waited_for_and_invalidates_other_copies(void)
{
    ferry_memory *m;
    ferry_queue *q;
    ferry_cref at;
    ferry_ref ref = { NULL, 0 };

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    at = ferry_memory_device_data(m);
    memcpy(&ref.handle, &at.handle, sizeof(ref.handle));
    ref.offset = at.offset;
    FX_OK(ferry_math_fill(q, FERRY_U8, WX_BYTES, NEW, ref));
    FX_OK(ferry_memory_record(m, q, FERRY_WRITE));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void recording_needs_a_valid_copy(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    FX_FAILS(FERRY_EUNINIT, ferry_memory_record(m, wx_queue(0), FERRY_READ));
    FX_FAILS(FERRY_EUNINIT, ferry_memory_record(m, wx_queue(1), FERRY_WRITE));
    FX_FAILS(FERRY_EINVAL, ferry_memory_record(m, NULL, FERRY_READ));
    FX_FAILS(FERRY_EINVAL, ferry_memory_record(m, wx_queue(0), 0));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    ferry_memory_release(m);
    wx_end();
}

/* ---- queues as such ------------------------------------------------------------------------- */

static void a_queue_of_another_device_is_refused(void)
{
    ferry_memory *m;
    ferry_ref ref = { &ref, 9 };

    wx_begin();
    m = wx_memory_at_host(OLD);
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, wx_dev(0), FERRY_READ, wx_queue(1), &ref));
    FX_FAILS(FERRY_EINVAL, ferry_memory_prefetch(m, wx_dev(0), wx_queue(1)));
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, wx_dev(0), 0, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, wx_dev(0), FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_PTR_EQUAL(ref.handle, &ref);
    CU_ASSERT_EQUAL(ref.offset, 9);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    ferry_memory_release(m);
    wx_end();
}

static void a_queue_waits_for_an_event_of_another_device(void)
{
    ferry_memory *m, *other;
    ferry_event *e = NULL;

    wx_begin();
    m = wx_memory(0);
    other = wx_memory(1);
    wx_write_on(wx_queue(0), m, OLD);
    FX_OK_FATAL(ferry_event_record(wx_queue(0), &e));
    FX_OK(ferry_queue_wait_event(wx_queue(1), e));
    ferry_event_destroy(e);
    wx_write_on(wx_queue(1), other, NEW);
    CU_ASSERT_FALSE(wx_idle(wx_queue(1)));
    wx_run_queue(wx_queue(0));
    CU_ASSERT(wx_idle(wx_queue(1)));
    ferry_memory_release(m);
    ferry_memory_release(other);
    wx_end();
}

static void destroying_a_queue_waits_for_its_work(void)
{
    ferry_memory *m;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(1);
    m = wx_memory(1);
    wx_write_on(q, m, NEW);
    CU_ASSERT(wx_pending(1) > 0);
    ferry_queue_destroy(q);
    CU_ASSERT_EQUAL(wx_pending(1), 0);
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_queue_destroy(NULL);
    ferry_queue_destroy(wx_queue(0));
    CU_ASSERT_PTR_NOT_NULL(wx_queue(0));
    ferry_memory_release(m);
    wx_end();
}

static void synchronizing_a_queue_does_not_wait_for_others(void)
{
    ferry_memory *m[2];
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m[0] = wx_memory(0);
    m[1] = wx_memory(0);
    wx_write_on(wx_queue(0), m[0], OLD);
    wx_write_on(q, m[1], NEW);
    FX_OK(ferry_queue_synchronize(q));
    CU_ASSERT(wx_pending(0) > 0);
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    CU_ASSERT_EQUAL(wx_pending(0), 0);
    ferry_memory_release(m[0]);
    ferry_memory_release(m[1]);
    ferry_queue_destroy(q);
    wx_end();
}

static void a_queue_that_cannot_be_made_changes_nothing(void)
{
    ferry_queue *q = (ferry_queue *)&q;

    wx_begin();
    wx_fail_next(0, SIM_CALL_QUEUE, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_queue_create(wx_dev(0), &q));
    CU_ASSERT_PTR_EQUAL(q, &q);
    FX_FAILS(FERRY_EINVAL, ferry_queue_create(NULL, &q));
    CU_ASSERT_PTR_EQUAL(ferry_queue_device(wx_queue(1)), wx_dev(1));
    CU_ASSERT_PTR_NULL(ferry_queue_device(NULL));
    wx_end();
}

static void null_queues_and_events_are_refused(void)
{
    ferry_event *e = NULL;
    ferry_queue *q = NULL;
    int object = 0;

    wx_begin();
    FX_FAILS(FERRY_EINVAL, ferry_queue_wrap(NULL, &object, &q));
    FX_FAILS(FERRY_EINVAL, ferry_queue_wrap(wx_dev(0), NULL, &q));
    FX_FAILS(FERRY_EINVAL, ferry_queue_wrap(wx_dev(0), &object, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_queue_begin(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_queue_end(NULL, &e));
    FX_FAILS(FERRY_EINVAL, ferry_queue_synchronize(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_event_record(NULL, &e));
    FX_FAILS(FERRY_EINVAL, ferry_event_record(wx_queue(0), NULL));
    FX_FAILS(FERRY_EINVAL, ferry_queue_wait_event(wx_queue(0), NULL));
    FX_OK_FATAL(ferry_event_record(wx_queue(0), &e));
    FX_FAILS(FERRY_EINVAL, ferry_queue_wait_event(NULL, e));
    FX_FAILS(FERRY_EINVAL, ferry_event_query(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_event_synchronize(NULL));
    ferry_event_destroy(NULL);
    ferry_event_destroy(e);
    CU_ASSERT_PTR_NULL(q);
    wx_end();
}

/* A host read keeps the device's copy valid, and its reference too. */
static void a_kernel_after_a_host_read_is_still_waited_for(void)
{
    static const unsigned accesses[] = { FERRY_READ, FERRY_READ | FERRY_WRITE };

    for (int i = 0; i < 2; i++) {
        ferry_memory *m, *seen;
        ferry_queue *q;
        ferry_ref ref, to;

        wx_begin();
        q = wx_queue_create(0);
        m = wx_memory_at(0, OLD);
        seen = wx_memory(0);
        to = wx_access(seen, q, FERRY_WRITE);
        ref = wx_access(m, q, accesses[i]);
        CU_ASSERT(wx_host_reads(m, OLD));
        FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
        wx_run_all();
        FX_OK(ferry_math_copy(q, FERRY_U8, WX_BYTES, ferry_ref_const(ref), to));
        wx_write_host(m, NEW);
        FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
        CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
        CU_ASSERT(wx_host_reads(seen, OLD));
        CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
        ferry_memory_release(seen);
        ferry_memory_release(m);
        ferry_queue_destroy(q);
        wx_end();
    }
}

/* After another write no pending use is left, and accesses of host and device need no wait. */
static void after_another_write_a_completed_kernel_is_not_waited_for(void)
{
    ferry_memory *m;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory(0);
    wx_write_on(q, m, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    wx_access(m, wx_queue(0), FERRY_READ | FERRY_WRITE);
    wx_run_all();
    wx_access(m, wx_queue(0), FERRY_READ | FERRY_WRITE);
    for (int i = 0; i < 10; i++)
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    CU_ASSERT_EQUAL(wx_pending(0), 0);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void repeated_recording_keeps_no_events(void)
{
    static const unsigned accesses[] = { FERRY_READ, FERRY_WRITE };

    for (int i = 0; i < 2; i++) {
        ferry_plugin_counters before;
        ferry_memory *m;

        wx_begin();
        m = wx_memory_at(0, OLD);
        before = wx_counters(0);
        for (int k = 0; k < 100; k++) {
            FX_OK(ferry_memory_record(m, wx_queue(0), accesses[i]));
            wx_run_all();
        }
        CU_ASSERT(wx_counters(0).live_events <= before.live_events + 1);
        for (int k = 0; k < 100; k++) /* the latest reader represents all of them */
            FX_OK(ferry_memory_record(m, wx_queue(0), FERRY_READ));
        CU_ASSERT(wx_counters(0).live_events <= before.live_events + 2);
        ferry_memory_release(m);
        wx_end();
    }
}

static void an_event_inside_a_section_is_refused_on_its_queue_alone(void)
{
    ferry_event *e = NULL;

    wx_begin();
    FX_OK(ferry_queue_begin(wx_queue(0)));
    FX_FAILS(FERRY_EINVAL, ferry_event_record(wx_queue(0), &e));
    CU_ASSERT_PTR_NULL(e);
    FX_OK(ferry_event_record(wx_queue(1), &e));
    ferry_event_destroy(e);
    FX_OK(ferry_queue_end(wx_queue(0), &e));
    ferry_event_destroy(e);
    FX_OK(ferry_event_record(wx_queue(0), &e));
    ferry_event_destroy(e);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_event_inside_a_section_is_refused_on_its_queue_alone),
    FERRY_TEST(a_reader_on_another_queue_waits_for_the_copys_writer),
    FERRY_TEST(a_reader_on_another_queue_waits_for_a_kernel_that_writes),
    FERRY_TEST(readers_do_not_wait_for_one_another),
    FERRY_TEST(a_writer_waits_for_all_readers),
    FERRY_TEST(a_mutable_access_waits_for_all_readers),
    FERRY_TEST(a_copy_into_a_stale_replica_waits_for_its_readers),
    FERRY_TEST(work_on_another_memory_does_not_delay_readers),
    FERRY_TEST(a_free_waits_for_all_readers),
    FERRY_TEST(a_stale_replica_is_kept_for_the_default_queues_readers),
    FERRY_TEST(a_freed_replica_waits_for_the_default_queues_readers),
    FERRY_TEST(a_recorded_reader_is_waited_for),
    FERRY_TEST(a_recorded_writer_is_waited_for_and_invalidates_other_copies),
    FERRY_TEST(recording_needs_a_valid_copy),
    FERRY_TEST(a_kernel_after_a_host_read_is_still_waited_for),
    FERRY_TEST(after_another_write_a_completed_kernel_is_not_waited_for),
    FERRY_TEST(repeated_recording_keeps_no_events),
    FERRY_TEST(a_queue_of_another_device_is_refused),
    FERRY_TEST(a_queue_waits_for_an_event_of_another_device),
    FERRY_TEST(destroying_a_queue_waits_for_its_work),
    FERRY_TEST(synchronizing_a_queue_does_not_wait_for_others),
    FERRY_TEST(a_queue_that_cannot_be_made_changes_nothing),
    FERRY_TEST(null_queues_and_events_are_refused),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static const struct wx_world worlds[] = {
        { "manual clock", manual, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "queue", worlds, FERRY_TEST_COUNT(worlds));
}
