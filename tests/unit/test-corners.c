/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

/* Corner cases that random programs (tests/random) found. */

#define MUTABLE (FERRY_READ | FERRY_WRITE)

/* ---- beyond the count ----------------------------------------------------------------------- */

/* Both sides are valid, the tail was never filled, and one side is to be written. */
static void a_write_fills_the_tail_of_its_side(void)
{
    ferry_blob *b;
    ferry_ref at;
    float *p;

    wx_begin();
    b = wx_blob(12);
    for (int i = 0; i < 2; i++) {
        FX_OK(ferry_memory_discard(ferry_blob_data_memory(b)));
        wx_reshape(b, 4);
        at = ferry_blob_overwrite_device_data(b);
        FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 4, 3, at));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
        wx_reshape(b, 12);
        if (i == 0) {
            at = ferry_blob_mutable_device_data(b);
            FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 12, 5, at));
        } else {
            p = ferry_blob_mutable_host_data(b);
            CU_ASSERT_PTR_NOT_NULL_FATAL(p);
            p[11] = p[0] = 5; /* would crash if it were mapped for reading */
        }
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 5);
    }
    ferry_blob_destroy(b);
    wx_end();
}

/* Work submitted earlier may still read the part that the blob lost when it grew back. */
static void a_too_short_copy_is_kept_until_its_readers_are_done(void)
{
    ferry_memory *seen;
    ferry_queue *q;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    q = wx_queue_create(0);
    seen = wx_memory(0);
    b = wx_blob(16);
    wx_put(b, 1);
    wx_reshape(b, 4);
    at = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_math_copy(wx_queue(0), FERRY_F32, 4, ferry_blob_device_data(b), at));
    wx_reshape(b, 16);
    at = wx_access(ferry_blob_data_memory(b), q, FERRY_WRITE);
    FX_OK(ferry_math_fill(q, FERRY_F32, 16, 9, at));
    wx_run_queue(q); /* first, if possible */
    wx_run_all();
    CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[0], 1);
    ferry_blob_destroy(b);
    ferry_memory_release(seen);
    ferry_queue_destroy(q);
    wx_end();
}

/* A copy to the device is still reading the host's copy when its tail is to be zeroed. */
static void a_tail_on_the_host_is_not_filled_before_its_readers_are_done(void)
{
    ferry_memory *seen;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    seen = wx_memory(0);
    b = wx_blob(16);
    wx_put(b, 1);
    at = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_math_copy(wx_queue(0), FERRY_F32, 16, ferry_blob_device_data(b), at));
    wx_reshape(b, 4);
    FX_OK(ferry_memory_discard(ferry_blob_data_memory(b)));
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 4, 9, at));
    wx_reshape(b, 16);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), NULL, NULL));
    CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[15], 16);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    ferry_memory_release(seen);
    wx_end();
}

/*
 * A device with host memory has the same bytes, but its queue does not know the reads of other
 * devices.
 */
static void a_tail_of_shared_bytes_is_not_filled_before_its_readers_are_done(void)
{
    ferry_device *cpu = NULL;
    ferry_memory *seen;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        seen = wx_memory(0);
        b = wx_blob(16);
        wx_put(b, 1);
        at = wx_access(seen, wx_queue(0), FERRY_WRITE);
        FX_OK(ferry_math_copy(wx_queue(0), FERRY_F32, 16, ferry_blob_device_data(b), at));
        wx_reshape(b, 0);
        (void)wx_access(ferry_blob_data_memory(b), wx_queue(1), FERRY_WRITE);
        wx_reshape(b, 16);
        FX_OK(ferry_memory_access(ferry_blob_data_memory(b), cpu, FERRY_READ, NULL, &at));
        CU_ASSERT_EQUAL(((const float *)at.handle)[15], 0);
        CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[15], 16);
        ferry_blob_destroy(b);
        ferry_memory_release(seen);
    }
    wx_end();
}

/* The longer copy is pending when the blob grows back, and fails: the shorter copy was valid. */
static void a_short_copy_is_kept_until_the_longer_one_is_complete(void)
{
    ferry_blob *b;

    wx_begin();
    b = wx_blob(16);
    wx_reshape(b, 4);
    wx_put(b, 1);
    wx_reshape(b, 8);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL));
    wx_reshape(b, 16);
    CU_ASSERT_FATAL(wx_holds(b, 0, 4, 1));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/* The tail was part of a copy that failed; a write to the rest does not repair it. */
static void a_failed_tail_stays_lost_after_a_write(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = wx_blob(16);
    wx_put(b, 1);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL));
    wx_reshape(b, 4);
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 4, 3, at));
    wx_reshape(b, 16);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[3], 3);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- shared bytes --------------------------------------------------------------------------- */

/* There is nothing to map, but the host must still wait, also for a queue of the program. */
static void without_maps_the_host_waits_for_every_queue(void)
{
    ferry_queue *q;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    q = wx_queue_create(0);
    b = wx_blob(4);
    wx_put(b, 1);
    for (int write = 0; write < 2; write++) {
        float *p;

        at = wx_access(ferry_blob_data_memory(b), q, MUTABLE);
        FX_OK(ferry_math_fill(q, FERRY_F32, 4, 9, at));
        p = write ? ferry_blob_mutable_host_data(b) : (float *)ferry_blob_host_data(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_EQUAL(p[3], 9);
        if (write)
            p[3] = 5;
    }
    wx_run_all();
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[3], 5);
    ferry_blob_destroy(b);
    ferry_queue_destroy(q);
    wx_end();
}

/* The device zeroes a tail of bytes shared with the host, and the zeroing fails. */
static void a_failed_tail_is_lost_on_both_sides(void)
{
    ferry_blob *b;

    wx_begin();
    b = wx_blob(16);
    wx_reshape(b, 4);
    wx_put(b, 1);
    wx_reshape(b, 16);
    wx_fail_later(0, SIM_CALL_MEMSET, 1, FERRY_EDEVICE);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_FAILED(FERRY_ELOST, !ferry_blob_mutable_host_data(b));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- without waiting ------------------------------------------------------------------------ */

/* An empty memory was used on a queue with pending work, and then grew. */
static void work_on_0_bytes_is_not_waited_for(void)
{
    static _Alignas(64) float block[16];
    ferry_memory *m = NULL, *busy;
    ferry_ref at;
    uint64_t pending;

    wx_begin();
    busy = wx_memory(1);
    wx_write_on(wx_queue(1), busy, 1);
    FX_OK_FATAL(ferry_memory_create(wx_dev(0), 0, &m));
    (void)wx_access(m, wx_queue(1), MUTABLE);
    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ block, 0 }, sizeof(block), 0, NULL, NULL));
    pending = wx_pending(1);
    FX_OK(ferry_memory_access(m, wx_dev(1), FERRY_READ | FERRY_NOWAIT, NULL, &at));
    CU_ASSERT(pending > 0 && wx_pending(1) >= pending);
    ferry_memory_release(m);
    ferry_memory_release(busy);
    wx_end();
}

/* Its block on the host is too short for the adopted memory, which the device still has. */
static void a_block_that_is_replaced_is_not_waited_for(void)
{
    static _Alignas(64) float block[16];
    ferry_memory *m = NULL, *longer;
    ferry_ref at;
    uint64_t pending;

    wx_begin();
    longer = wx_memory(1);
    at = wx_access(longer, wx_queue(1), MUTABLE);
    FX_OK_FATAL(ferry_memory_create(wx_dev(0), sizeof(block), &m));
    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ block, 0 }, sizeof(block), 0, NULL, NULL));
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 16, 1, wx_access(m, wx_queue(0), FERRY_WRITE)));
    FX_OK(ferry_memory_adopt(m, wx_dev(1), at, WX_BYTES, 0, NULL, NULL));
    pending = wx_pending(0);
    CU_ASSERT(pending > 0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_WRITE | FERRY_NOWAIT, NULL, &at));
    CU_ASSERT(wx_pending(0) >= pending);
    wx_run_all();
    FX_OK(ferry_memory_access(m, NULL, FERRY_WRITE | FERRY_NOWAIT, NULL, &at));
    ferry_memory_release(m);
    ferry_memory_release(longer);
    wx_end();
}

/* The nearest copy turns out to have failed, and fetching another requires a wait. */
static void a_failed_copy_causes_no_wait(void)
{
    ferry_device *cpu = NULL;
    ferry_memory *m, *busy;
    ferry_ref at;
    uint64_t pending;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        m = wx_memory_at(0, 1);
        busy = wx_memory(0);
        wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
        FX_OK(ferry_memory_prefetch(m, NULL, NULL));
        wx_run_all();
        wx_write_on(wx_queue(0), busy, 1);
        pending = wx_pending(0);
        FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, cpu, FERRY_READ | FERRY_NOWAIT, NULL, &at));
        CU_ASSERT(pending > 0 && wx_pending(0) >= pending);
        CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
        CU_ASSERT(wx_host_reads(m, 1));
        ferry_memory_release(m);
        ferry_memory_release(busy);
    }
    wx_end();
}

/* As above, for the last copy: it is not replaced by zeros. */
static void failed_contents_are_lost_without_a_wait(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = wx_blob(16);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_fill_data(b, 3));
    wx_run_all();
    FX_FAILS(FERRY_ELOST, ferry_memory_access(ferry_blob_data_memory(b), NULL,
                                              MUTABLE | FERRY_NOWAIT, NULL, &at));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    ferry_blob_destroy(b);
    wx_end();
}

/* The submitted work has completed, and then another memory recorded an event on the queue. */
static void work_submitted_after_the_first_query_makes_the_access_busy(void)
{
    ferry_memory *m, *other;
    uint64_t pending;
    ferry_ref at;

    wx_begin();
    m = wx_memory(0);
    other = wx_memory_at(0, 1);
    wx_write_on(wx_queue(0), other, 2);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, MUTABLE | FERRY_NOWAIT, NULL, &at));
    wx_run_all();
    (void)wx_access(other, wx_queue(1), FERRY_WRITE);
    pending = wx_pending(0);
    CU_ASSERT(pending > 0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, MUTABLE | FERRY_NOWAIT, NULL, &at));
    CU_ASSERT(wx_pending(0) >= pending);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, MUTABLE | FERRY_NOWAIT, NULL, &at));
    wx_run_all();
    FX_OK(ferry_memory_access(m, NULL, MUTABLE | FERRY_NOWAIT, NULL, &at));
    ferry_memory_release(m);
    ferry_memory_release(other);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_write_fills_the_tail_of_its_side),
    FERRY_TEST(a_too_short_copy_is_kept_until_its_readers_are_done),
    FERRY_TEST(a_tail_on_the_host_is_not_filled_before_its_readers_are_done),
    FERRY_TEST(a_tail_of_shared_bytes_is_not_filled_before_its_readers_are_done),
    FERRY_TEST(a_failed_tail_stays_lost_after_a_write),
    FERRY_TEST(a_short_copy_is_kept_until_the_longer_one_is_complete),
    FERRY_TEST(work_on_0_bytes_is_not_waited_for),
    FERRY_TEST(a_failed_copy_causes_no_wait),
    FERRY_TEST(failed_contents_are_lost_without_a_wait),
};

static const ferry_test_case shared[] = {
    FERRY_TEST(a_write_fills_the_tail_of_its_side),
    FERRY_TEST(a_failed_tail_is_lost_on_both_sides),
    FERRY_TEST(without_maps_the_host_waits_for_every_queue),
    FERRY_TEST(a_block_that_is_replaced_is_not_waited_for),
    FERRY_TEST(work_submitted_after_the_first_query_makes_the_access_busy),
};

int main(int argc, char **argv)
{
    static const char *const discrete[] = { "clock", "manual", NULL };
    static const char *const unified[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const unmapped[] = {
        "clock", "manual", "unified", "on", "map", "off", NULL
    };
    static const struct wx_world worlds[] = {
        { "discrete", discrete, cases, FERRY_TEST_COUNT(cases) },
        { "unified", unified, shared, FERRY_TEST_COUNT(shared) },
        { "unified without maps", unmapped, shared, FERRY_TEST_COUNT(shared) },
    };

    return wx_main(argc, argv, "corners", worlds, FERRY_TEST_COUNT(worlds));
}
