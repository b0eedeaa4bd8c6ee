/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <string.h>

/*
 * Events: the waits of the host, and the result of work that fails after the call that submitted it
 * has returned.
 */

#define OLD 0x5a
#define NEW 0x77

static int access_host(ferry_memory *m, unsigned access, ferry_ref *out)
{
    return ferry_memory_access(m, NULL, access, NULL, out);
}

static int access_dev(ferry_memory *m, int i, unsigned access)
{
    ferry_ref ref;

    return ferry_memory_access(m, wx_dev(i), access, NULL, &ref);
}

/* ---- the host waits ------------------------------------------------------------------------- */

static void a_copy_is_a_reader_of_its_source(void)
{
    ferry_memory *m, *seen;
    ferry_ref at, to;

    wx_begin();
    m = wx_memory_at_host(OLD);
    seen = wx_memory(0);
    at = wx_access(m, wx_queue(0), FERRY_READ);
    to = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_math_copy(wx_queue(0), FERRY_U8, WX_BYTES, ferry_ref_const(at), to));
    wx_write_host(m, NEW);
    CU_ASSERT(wx_host_reads(seen, OLD));
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    wx_end();
}

static void a_copy_out_is_a_reader_of_its_source(void)
{
    ferry_memory *m;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    FX_OK(ferry_memory_prefetch(m, NULL, q));
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
    CU_ASSERT(wx_idle(q));
    CU_ASSERT(wx_idle(wx_queue(0)));
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

static void the_host_waits_only_for_the_event_of_its_copy(void)
{
    ferry_memory *m, *other[2];
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    other[0] = wx_memory(0);
    other[1] = wx_memory(0);
    FX_OK(ferry_memory_prefetch(m, NULL, q));
    wx_write_on(q, other[0], NEW);
    wx_write_on(wx_queue(0), other[1], NEW);
    CU_ASSERT(wx_host_reads(m, OLD));
    CU_ASSERT(wx_pending(0) >= 2);
    CU_ASSERT(wx_host_reads(other[0], NEW));
    CU_ASSERT(wx_host_reads(other[1], NEW));
    ferry_memory_release(m);
    ferry_memory_release(other[0]);
    ferry_memory_release(other[1]);
    ferry_queue_destroy(q);
    wx_end();
}

static void the_host_reads_during_a_copy_that_only_reads(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    CU_ASSERT(wx_host_reads(m, OLD));
    CU_ASSERT(wx_pending(0) > 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_last_release_waits_for_copies_from_its_host_block(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    CU_ASSERT(wx_pending(0) > 0 && wx_pending(1) > 0);
    ferry_memory_release(m);
    wx_end();
}

/* ---- failures that come later --------------------------------------------------------------- */

static void a_failed_prefetch_is_reported_at_the_next_access_on_the_device(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    wx_run_all();
    FX_FAILS(FERRY_EDEVICE, access_dev(m, 0, FERRY_READ));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EDEVICE);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    CU_ASSERT(wx_reads_on(wx_queue(0), m, OLD));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    wx_end();
}

/* The access precedes the copy: later work on the queue must not take the old bytes for data. */
static void the_failure_of_a_copy_that_was_already_read_is_reported_to_the_host(void)
{
    ferry_memory *m, *seen;

    wx_begin();
    m = wx_memory_at(0, OLD);
    seen = wx_memory(0);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(m));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EDEVICE);
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(seen);
    ferry_memory_release(m);
    wx_end();
}

static void a_failed_copy_out_does_not_fill_the_host(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(m));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EDEVICE);
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    wx_end();
}

/* A mutable access clears the host's bit when it starts the copy. */
static ferry_memory *lost_memory(void)
{
    ferry_memory *m = wx_memory_at_host(OLD);

    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(access_dev(m, 0, FERRY_READ | FERRY_WRITE));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    wx_run_all();
    return m;
}

static void the_last_copy_that_fails_is_lost_and_never_zeros(void)
{
    ferry_memory *m;
    ferry_ref ref = { &ref, 0 };

    wx_begin();
    m = lost_memory();
    FX_FAILS(FERRY_ELOST, access_host(m, FERRY_READ, &ref));
    FX_FAILS(FERRY_ELOST, access_host(m, FERRY_READ | FERRY_WRITE, &ref));
    FX_FAILS(FERRY_ELOST, access_dev(m, 0, FERRY_READ));
    FX_FAILS(FERRY_ELOST, access_dev(m, 1, FERRY_READ));
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(m));
    CU_ASSERT_PTR_NULL(ferry_memory_device_data(m).handle);
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ELOST);
    CU_ASSERT_EQUAL(wx_valid(m), 0);
    CU_ASSERT_PTR_EQUAL(ref.handle, &ref);
    wx_write_host(m, NEW);
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    ferry_memory_release(m);
    wx_end();
}

static void lost_contents_can_be_invalidated(void)
{
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    m = lost_memory();
    FX_FAILS(FERRY_ELOST, access_dev(m, 1, FERRY_READ));
    FX_OK(ferry_memory_discard(m));
    FX_OK(access_host(m, FERRY_READ, &ref));
    CU_ASSERT(wx_host_reads(m, 0));
    ferry_memory_release(m);
    wx_end();
}

static void lost_contents_can_be_replaced_by_adoption(void)
{
    static unsigned char bytes[WX_BYTES];
    ferry_memory *m;

    wx_begin();
    memset(bytes, NEW, sizeof(bytes));
    m = lost_memory();
    FX_FAILS(FERRY_ELOST, access_dev(m, 0, FERRY_READ));
    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ bytes, 0 }, WX_BYTES, 0, NULL, NULL));
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    ferry_memory_release(m);
    wx_end();
}

static void a_failed_kernel_is_reported_to_the_host(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(m));
    CU_ASSERT_FALSE(ferry_memory_is_valid_at(m, NULL));
    wx_write_host(m, NEW);
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    ferry_memory_release(m);
    wx_end();
}

/* The bytes are the host's own: no copy exists whose failure could be reported. */
static void a_failed_kernel_is_reported_by_the_map(void)
{
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    FX_FAILS(FERRY_EDEVICE, access_host(m, FERRY_READ, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    FX_OK(access_host(m, FERRY_READ, &ref)); /* reported once: it may have belonged to another
                                              * memory */
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT(access_host(m, FERRY_READ | FERRY_WRITE, &ref) < 0);
    CU_ASSERT_EQUAL(wx_since(0).copies_d2h, 0);
    ferry_memory_release(m);
    wx_end();
}

/* V={d} unmapped, {host,d} mapped for reading, {host} for writing: exactly. */
static void the_map_of_a_shared_block_follows_its_valid_copies(void)
{
    static const struct {
        bool on_host;
        unsigned access;
        uint64_t maps, unmaps; /* in all, by the plugin's counters */
        unsigned valid;
    } steps[] = {
        { true, FERRY_READ | FERRY_WRITE, 1, 0, WX_HOST },
        { false, FERRY_READ, 2, 1, WX_HOST | WX_DEV(0) },
        { true, FERRY_READ, 2, 1, WX_HOST | WX_DEV(0) },
        { false, FERRY_READ | FERRY_WRITE, 2, 2, WX_DEV(0) },
        { true, FERRY_READ, 3, 2, WX_HOST | WX_DEV(0) },
        { true, FERRY_READ | FERRY_WRITE, 4, 3, WX_HOST },
        { false, FERRY_WRITE, 4, 4, WX_DEV(0) },
        { true, FERRY_WRITE, 5, 4, WX_HOST },
        { false, FERRY_READ | FERRY_WRITE, 5, 5, WX_DEV(0) },
        { true, FERRY_READ, 6, 5, WX_HOST | WX_DEV(0) },
    };
    ferry_plugin_counters before, now;
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    before = wx_counters(0);
    m = wx_memory(0);
    for (size_t i = 0; i < FERRY_TEST_COUNT(steps); i++) {
        FX_OK(ferry_memory_access(m, steps[i].on_host ? NULL : wx_dev(0), steps[i].access, NULL,
                                  &ref));
        now = wx_counters(0);
        CU_ASSERT_EQUAL(now.maps - before.maps, steps[i].maps);
        CU_ASSERT_EQUAL(now.unmaps - before.unmaps, steps[i].unmaps);
        CU_ASSERT_EQUAL(now.live_maps, now.maps - now.unmaps);
        CU_ASSERT_EQUAL(wx_valid(m), steps[i].valid);
    }
    ferry_memory_release(m);
    now = wx_counters(0);
    CU_ASSERT_EQUAL(now.maps - before.maps, 6);
    CU_ASSERT_EQUAL(now.unmaps - before.unmaps, 6);
    CU_ASSERT_EQUAL(wx_since(0).copies_h2d + wx_since(0).copies_d2h, 0);
    wx_end();
}

/* Contents that were valid are valid again, on the side that the program may use. */
static void a_refused_kernel_leaves_the_hosts_map_in_place(void)
{
    ferry_blob *b = NULL;
    float *p;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 1024 }, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 3));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_HOST | WX_DEV(0));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_scale_data(b, 2));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_HOST | WX_DEV(0));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[1023], 3);
    wx_fail_next(0, SIM_CALL_MAP, 1, FERRY_EDEVICE); /* and if that fails, too */
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_scale_data(b, 2));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_DEV(0));
    p = ferry_blob_mutable_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p[0]++, 3);
    ferry_blob_destroy(b);
    wx_end();
}

/*
 * Zeros follow the old contents; afterwards the bytes are owned by the writer: unmapped, or mapped
 * for writing.
 */
static void after_the_fill_of_a_tail_the_writer_has_the_bytes(void)
{
    for (int host = 0; host < 2; host++) {
        ferry_blob *b = NULL;
        ferry_memory *m;

        wx_begin();
        FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 15 }, 1, &b));
        m = ferry_blob_data_memory(b);
        FX_OK(ferry_blob_fill_data(b, 1));
        FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1 }, 1, NULL));
        if (host)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
        FX_OK(ferry_memory_prefetch(m, host ? wx_dev(0) : NULL, NULL));
        FX_OK(ferry_blob_reshape(b, (int64_t[]){ 15 }, 1, NULL));
        if (host)
            memset(ferry_blob_mutable_host_data(b), 0, 60);
        else
            FX_OK(
                ferry_math_fill(wx_queue(0), FERRY_F32, 15, 2, ferry_blob_mutable_device_data(b)));
        CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_blob_host_data(b));
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[14], host ? 0 : 2);
        ferry_blob_destroy(b);
        wx_end();
    }
}

/* ferry cannot know which bytes the program's kernel wrote; the program can check. */
static void a_failed_kernel_is_reported_by_synchronize(void)
{
    ferry_memory *m;
    ferry_queue *q;
    ferry_ref ref;

    wx_begin();
    q = wx_queue_create(0);
    m = wx_memory_at(0, OLD);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    FX_OK(ferry_memory_access(m, wx_dev(0), FERRY_READ, q, &ref));
    FX_FAILS(FERRY_EDEVICE, ferry_queue_synchronize(wx_queue(0)));
    FX_OK(ferry_queue_synchronize(wx_queue(0)));
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    wx_end();
}

/* The copy to dev1 reads contents that another copy was to bring; that one fails. */
static void a_copy_made_from_a_failed_copy_is_invalid(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(access_dev(m, 0, FERRY_READ | FERRY_WRITE));
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    wx_run_all();
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(m));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ELOST);
    FX_FAILS(FERRY_ELOST, access_dev(m, 1, FERRY_READ));
    ferry_memory_release(m);
    wx_end();
}

/* ---- events as such ------------------------------------------------------------------------- */

static void an_event_is_pending_until_the_work_before_it_is_done(void)
{
    ferry_memory *m;
    ferry_event *e = NULL;

    wx_begin();
    m = wx_memory(0);
    wx_write_on(wx_queue(0), m, NEW);
    FX_OK_FATAL(ferry_event_record(wx_queue(0), &e));
    wx_write_on(wx_queue(0), m, OLD);
    CU_ASSERT_EQUAL(ferry_event_query(e), 0);
    FX_OK(ferry_event_synchronize(e));
    CU_ASSERT_EQUAL(ferry_event_query(e), 1);
    CU_ASSERT_EQUAL(wx_pending(0), 1);
    ferry_event_destroy(e);
    ferry_event_destroy(NULL);
    ferry_memory_release(m);
    wx_end();
}

static void an_event_reports_the_error_of_its_work(void)
{
    ferry_memory *m;
    ferry_event *e = NULL;

    wx_begin();
    m = wx_memory(0);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_write_on(wx_queue(0), m, NEW);
    FX_OK_FATAL(ferry_event_record(wx_queue(0), &e));
    FX_FAILS(FERRY_EDEVICE, ferry_event_synchronize(e));
    FX_FAILS(FERRY_EDEVICE, ferry_event_query(e));
    ferry_event_destroy(e);
    ferry_memory_release(m);
    wx_end();
}

static void an_event_that_cannot_be_recorded_is_an_error(void)
{
    ferry_event *e = (ferry_event *)&e;

    wx_begin();
    wx_fail_next(0, SIM_CALL_EVENT, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_event_record(wx_queue(0), &e));
    CU_ASSERT_PTR_EQUAL(e, &e);
    FX_FAILS(FERRY_EINVAL, ferry_event_record(NULL, &e));
    FX_FAILS(FERRY_EINVAL, ferry_event_record(wx_queue(0), NULL));
    FX_FAILS(FERRY_EINVAL, ferry_event_query(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_event_synchronize(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_queue_wait_event(wx_queue(0), NULL));
    wx_end();
}

/*
 * Contents of a lost device are treated as missing: others may be written, or the lost copy
 * dropped.
 */
static void write_beside(ferry_memory *both, ferry_memory *there, ferry_memory *gone)
{
    ferry_ref ref;

    FX_OK(access_host(both, FERRY_READ | FERRY_WRITE, &ref));
    CU_ASSERT_EQUAL(wx_valid(both), WX_HOST);
    FX_OK(access_dev(there, 0, FERRY_WRITE));
    CU_ASSERT_EQUAL(wx_valid(there), WX_DEV(0));
    FX_OK(ferry_memory_discard(gone));
    CU_ASSERT_EQUAL(wx_valid(gone), 0);
}

/* Device 1 is lost for the rest of the process: the last case of its world. */
static void a_lost_device_does_not_affect_other_devices(void)
{
    ferry_memory *there, *both, *home, *left[2];
    ferry_ref ref;

    wx_begin();
    for (int i = 0; i < 2; i++)
        left[i] = wx_memory_at(1, OLD);
    there = wx_memory_at(1, OLD);
    both = wx_memory_at(1, OLD);
    home = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(both, OLD));
    wx_lose(1);
    FX_FAILS(FERRY_ELOST, access_host(there, FERRY_READ, &ref));
    FX_FAILS(FERRY_ELOST, access_dev(home, 1, FERRY_READ));
    CU_ASSERT(wx_host_reads(both, OLD));
    CU_ASSERT(wx_reads_on(wx_queue(0), both, OLD));
    CU_ASSERT(wx_reads_on(wx_queue(0), home, OLD));
    FX_FAILS(FERRY_ELOST, ferry_device_synchronize(wx_dev(1)));
    FX_FAILS(FERRY_ELOST, ferry_queue_synchronize(wx_queue(1)));
    write_beside(both, left[0], left[1]);
    for (int i = 0; i < 2; i++)
        ferry_memory_release(left[i]);
    ferry_memory_release(there);
    ferry_memory_release(both);
    ferry_memory_release(home);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_copy_is_a_reader_of_its_source),
    FERRY_TEST(a_copy_out_is_a_reader_of_its_source),
    FERRY_TEST(the_host_waits_only_for_the_event_of_its_copy),
    FERRY_TEST(the_host_reads_during_a_copy_that_only_reads),
    FERRY_TEST(a_last_release_waits_for_copies_from_its_host_block),
    FERRY_TEST(a_failed_prefetch_is_reported_at_the_next_access_on_the_device),
    FERRY_TEST(the_failure_of_a_copy_that_was_already_read_is_reported_to_the_host),
    FERRY_TEST(a_failed_copy_out_does_not_fill_the_host),
    FERRY_TEST(the_last_copy_that_fails_is_lost_and_never_zeros),
    FERRY_TEST(lost_contents_can_be_invalidated),
    FERRY_TEST(lost_contents_can_be_replaced_by_adoption),
    FERRY_TEST(a_failed_kernel_is_reported_to_the_host),
    FERRY_TEST(a_failed_kernel_is_reported_by_synchronize),
    FERRY_TEST(a_copy_made_from_a_failed_copy_is_invalid),
    FERRY_TEST(an_event_is_pending_until_the_work_before_it_is_done),
    FERRY_TEST(an_event_reports_the_error_of_its_work),
    FERRY_TEST(an_event_that_cannot_be_recorded_is_an_error),
    FERRY_TEST(a_lost_device_does_not_affect_other_devices),
};

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(a_failed_kernel_is_reported_by_the_map),
    FERRY_TEST(the_map_of_a_shared_block_follows_its_valid_copies),
    FERRY_TEST(a_refused_kernel_leaves_the_hosts_map_in_place),
    FERRY_TEST(after_the_fill_of_a_tail_the_writer_has_the_bytes),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "manual clock", manual, cases, FERRY_TEST_COUNT(cases) },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
    };

    return wx_main(argc, argv, "events", worlds, FERRY_TEST_COUNT(worlds));
}
