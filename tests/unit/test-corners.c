/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* Corners that random programs (tests/random) came upon. */

#define MUTABLE (FERRY_READ | FERRY_WRITE)

static ferry_blob *blob_of(int64_t count)
{
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, 1, &count, &b), FERRY_OK);
    return b;
}

static void reshape(ferry_blob *b, int64_t count)
{
    FX_OK(ferry_blob_reshape(b, 1, &count, NULL));
}

static void put(ferry_blob *b, float first)
{
    float *p = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ferry_blob_count(b); i++)
        p[i] = first + (float)i;
}

static bool holds(ferry_blob *b, int64_t from, int64_t to, float first)
{
    const float *p = ferry_blob_host_data(b);

    for (int64_t i = from; p && i < to; i++)
        if (p[i] != first + (float)i)
            return false;
    return p != NULL;
}

/* ---- beyond the count ----------------------------------------------------------------------- */

/* Both sides are valid, the tail was never filled, and one side is to be written. */
static void a_tail_is_filled_for_the_side_that_writes(void)
{
    ferry_blob *b;
    ferry_ref at;
    float *p;

    wx_begin();
    b = blob_of(12);
    for (int i = 0; i < 2; i++) {
        FX_OK(ferry_memory_invalidate(ferry_blob_data_memory(b)));
        reshape(b, 4);
        at = ferry_blob_overwrite_device_data(b);
        FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 4, 3, at));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
        reshape(b, 12);
        if (i == 0) {
            at = ferry_blob_mutable_device_data(b);
            FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 12, 5, at));
        } else {
            p = ferry_blob_mutable_host_data(b);
            CU_ASSERT_PTR_NOT_NULL_FATAL(p);
            p[11] = p[0] = 5; /* a crash, were it mapped for reading */
        }
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 5);
    }
    ferry_blob_destroy(b);
    wx_end();
}

static void a_refused_copy_that_reshapes_leaves_every_copy_valid(void)
{
    ferry_blob *b, *longer;
    unsigned before;

    wx_begin();
    b = blob_of(16);
    longer = blob_of(12);
    put(longer, 100);
    put(b, 1);
    reshape(b, 4); /* the device gets four of the sixteen */
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    for (unsigned nth = 1; nth < 20; nth++) {
        int err;

        put(longer, 100);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(longer).handle);
        wx_fail_next(0, SIM_CALL_ANY, nth, FERRY_EDEVICE);
        err = ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        if (!err)
            break;
        CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
        CU_ASSERT_EQUAL(ferry_blob_count(b), 4);
    }
    CU_ASSERT(holds(b, 0, 12, 100));
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/* The host has but two of the four that the device has, and has them still. */
static void a_refused_copy_that_reshapes_leaves_short_copies_valid(void)
{
    ferry_blob *b, *longer;
    unsigned before;

    wx_begin();
    b = blob_of(16);
    longer = blob_of(12);
    reshape(b, 2);
    put(b, 1);
    reshape(b, 4);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    FX_OK(ferry_blob_fill_data(longer, 3));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
    CU_ASSERT(holds(b, 0, 2, 1));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[3], 0);
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/* Nor has a copy more afterwards than it had: what is written there next leaves no tail of rubbish. */
static void a_refused_copy_that_reshapes_lengthens_nothing(void)
{
    ferry_blob *b, *longer;

    wx_begin();
    b = blob_of(12);
    longer = blob_of(12);
    FX_OK(ferry_blob_fill_data(b, 9));
    FX_OK(ferry_memory_invalidate(ferry_blob_data_memory(b)));
    put(b, 1);
    reshape(b, 2);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_OK(ferry_blob_fill_data(longer, 3));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_device_data(b).handle);
    reshape(b, 12);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 0);
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/* Making room for the copy evicts the blob itself, and then there is no room all the same. */
static void a_refused_copy_that_evicted_its_target_loses_nothing(void)
{
    ferry_blob *b, *longer;

    wx_begin();
    b = blob_of(16);
    longer = blob_of(12);
    put(longer, 100);
    put(b, 1);
    reshape(b, 4);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_memory_wont_use(ferry_blob_data_memory(b)));
    FX_OK(ferry_device_set_budget(wx_dev(0), 64)); /* b's, and no more */
    FX_OK(ferry_memory_invalidate(ferry_blob_data_memory(longer)));
    (void)ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE);
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    if (ferry_blob_count(b) == 4)
        CU_ASSERT(holds(b, 0, 4, 1));
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/* It would have written all, and was not done: what was never filled must not pass for contents. */
static void a_refused_fill_leaves_a_tail_that_reads_as_zeros(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = blob_of(12);
    reshape(b, 4);
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 4, 3, at));
    reshape(b, 12);
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(ferry_blob_fill_data(b, 9), FERRY_EDEVICE);
    wx_fail_next(0, SIM_CALL_OP, 0, 0);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[0], 3);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/* Both copies were made when there was nothing to copy; the one that is to be scaled is filled first. */
static void a_refused_scale_forgets_no_copy_without_bytes(void)
{
    ferry_blob *b;
    unsigned before;

    wx_begin();
    b = blob_of(8);
    reshape(b, 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), NULL, NULL));
    reshape(b, 6);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_scale_data(b, 0));
    wx_fail_next(0, SIM_CALL_OP, 0, 0);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
    ferry_blob_destroy(b);
    wx_end();
}

/* What the blob lost when it grew back may still be read there by work that was asked for before. */
static void a_copy_too_short_is_left_to_its_readers(void)
{
    ferry_memory *seen;
    ferry_queue *q;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    q = wx_queue_create(0);
    seen = wx_memory(0);
    b = blob_of(16);
    put(b, 1);
    reshape(b, 4);
    at = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_copy(wx_queue(0), FERRY_F32, 4, ferry_blob_device_data(b), at));
    reshape(b, 16);
    at = wx_access(ferry_blob_data_memory(b), q, FERRY_WRITE);
    FX_OK(ferry_fill(q, FERRY_F32, 16, 9, at));
    wx_run_queue(q); /* first, if it may */
    wx_run_all();
    CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[0], 1);
    ferry_blob_destroy(b);
    ferry_memory_release(seen);
    ferry_queue_destroy(q);
    wx_end();
}

/* The host's copy is still being read, by a copy to the device, when its tail is to be zeroed. */
static void a_tail_on_the_host_is_left_to_its_readers(void)
{
    ferry_memory *seen;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    seen = wx_memory(0);
    b = blob_of(16);
    put(b, 1);
    at = wx_access(seen, wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_copy(wx_queue(0), FERRY_F32, 16, ferry_blob_device_data(b), at));
    reshape(b, 4);
    FX_OK(ferry_memory_invalidate(ferry_blob_data_memory(b)));
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 4, 9, at));
    reshape(b, 16);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), NULL, NULL));
    CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[15], 16);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    ferry_memory_release(seen);
    wx_end();
}

/* The same bytes are a host-memory device's, whose queue knows nothing of who reads them elsewhere. */
static void a_tail_on_shared_bytes_is_left_to_its_readers(void)
{
    ferry_device *cpu = NULL;
    ferry_memory *seen;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    if (ferry_runtime_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        seen = wx_memory(0);
        b = blob_of(16);
        put(b, 1);
        at = wx_access(seen, wx_queue(0), FERRY_WRITE);
        FX_OK(ferry_copy(wx_queue(0), FERRY_F32, 16, ferry_blob_device_data(b), at));
        reshape(b, 0);
        (void)wx_access(ferry_blob_data_memory(b), wx_queue(1), FERRY_WRITE);
        reshape(b, 16);
        FX_OK(ferry_memory_access(ferry_blob_data_memory(b), cpu, FERRY_READ, NULL, &at));
        CU_ASSERT_EQUAL(((const float *)at.handle)[15], 0);
        CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(seen))[15], 16);
        ferry_blob_destroy(b);
        ferry_memory_release(seen);
    }
    wx_end();
}

/* The longer copy is on its way when the blob grows back, and does not arrive: the shorter one was good. */
static void a_short_copy_stays_until_the_longer_one_is_there(void)
{
    ferry_blob *b;

    wx_begin();
    b = blob_of(16);
    reshape(b, 4);
    put(b, 1);
    reshape(b, 8);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL));
    reshape(b, 16);
    CU_ASSERT_FATAL(holds(b, 0, 4, 1));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/* The tail is what a copy brought that has failed; what is written over the rest does not mend it. */
static void a_tail_that_failed_is_none_after_a_write(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = blob_of(16);
    put(b, 1);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL));
    reshape(b, 4);
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 4, 3, at));
    reshape(b, 16);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[3], 3);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- shared bytes --------------------------------------------------------------------------- */

/* There is nothing to map, and still the host has to wait: for a queue of the program's as well. */
static void the_host_waits_for_every_queue_where_nothing_is_mapped(void)
{
    ferry_queue *q;
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    q = wx_queue_create(0);
    b = blob_of(4);
    put(b, 1);
    for (int write = 0; write < 2; write++) {
        float *p;

        at = wx_access(ferry_blob_data_memory(b), q, MUTABLE);
        FX_OK(ferry_fill(q, FERRY_F32, 4, 9, at));
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

/* The device zeroes a tail of bytes that are the host's as well, and fails when it comes to it. */
static void a_tail_that_failed_is_none_on_either_side(void)
{
    ferry_blob *b;

    wx_begin();
    b = blob_of(16);
    reshape(b, 4);
    put(b, 1);
    reshape(b, 16);
    wx_fail_later(0, SIM_CALL_MEMSET, 1, FERRY_EDEVICE);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_FAILED(FERRY_ELOST, !ferry_blob_mutable_host_data(b));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    ferry_blob_destroy(b);
    wx_end();
}

/* The bytes are the device's for the zeroing of a tail, which fails: they are the host's again. */
static void a_refused_access_gives_shared_bytes_back(void)
{
    ferry_blob *b;
    unsigned nth = 0;
    int err;

    wx_begin();
    do {
        b = blob_of(5);
        reshape(b, 2);
        put(b, 1);
        reshape(b, 5);
        wx_fail_next(0, SIM_CALL_ANY, ++nth, FERRY_EDEVICE);
        err = ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        reshape(b, 2);                /* and nothing is to be filled any more */
        CU_ASSERT(holds(b, 0, 2, 1)); /* a crash, were it the device's */
        reshape(b, 5);
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[4], 0);
        ferry_blob_destroy(b);
    } while (err && nth < 20);
    CU_ASSERT(nth > 1 && !err);
    wx_end();
}

/* An access that parts the two sides of read-only memory, and is refused then, loses nothing. */
static void sides_that_part_for_a_refused_access_keep_their_contents(void)
{
    static _Alignas(64) float block[4];
    ferry_device *cpu = NULL;
    ferry_memory *m = NULL;
    ferry_ref at;

    wx_begin();
    if (ferry_runtime_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        for (int i = 0; i < 4; i++)
            block[i] = (float)(i + 1);
        FX_OK_FATAL(ferry_memory_create(wx_dev(1), sizeof(block), &m));
        FX_OK(ferry_memory_adopt(m, cpu, (ferry_ref){ block, 0 }, sizeof(block),
                                 FERRY_ADOPT_READONLY, NULL, NULL));
        (void)wx_access(m, wx_queue(0), FERRY_READ); /* a copy out of it is pending */
        CU_ASSERT_EQUAL(ferry_memory_access(m, NULL, MUTABLE | FERRY_NOWAIT, NULL, &at),
                        FERRY_EBUSY);
        CU_ASSERT_EQUAL_FATAL(ferry_memory_access(m, NULL, FERRY_READ, NULL, &at), FERRY_OK);
        CU_ASSERT_EQUAL(((const float *)at.handle)[3], 4);
        ferry_memory_release(m);
    }
    wx_end();
}

/* What the program gave to a host-memory device stays the host's too while its own is refused. */
static void an_adoption_that_is_refused_parts_no_sides(void)
{
    static _Alignas(64) float given[16], refused[16];
    ferry_device *cpu = NULL;
    ferry_memory *m = NULL;

    wx_begin();
    if (ferry_runtime_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        FX_OK_FATAL(ferry_memory_create(wx_dev(0), sizeof(given), &m));
        FX_OK(ferry_memory_adopt(m, cpu, (ferry_ref){ given, 0 }, sizeof(given), 0, NULL, NULL));
        FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 16, 3, wx_access(m, wx_queue(0), FERRY_WRITE)));
        FX_OK(ferry_memory_prefetch(m, cpu, NULL)); /* on its way to the host */
        wx_fail_next(0, SIM_CALL_EVENT, 1, FERRY_EDEVICE);
        FX_FAILS(FERRY_EDEVICE, ferry_memory_adopt(m, NULL, (ferry_ref){ refused, 0 },
                                                   sizeof(refused), 0, NULL, NULL));
        CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(m))[15], 3);
        ferry_memory_release(m);
    }
    wx_end();
}

/* ---- without waiting ------------------------------------------------------------------------ */

/* A memory of no bytes was used on a queue with work on it, and then came to have some. */
static void work_on_no_bytes_is_not_waited_for(void)
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

/* Its block on the host is too short for what was adopted elsewhere, and the device has it still. */
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
    FX_OK(ferry_fill(wx_queue(0), FERRY_F32, 16, 1, wx_access(m, wx_queue(0), FERRY_WRITE)));
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

/* The nearest copy turns out to have failed, and to fetch another is to wait. */
static void a_copy_that_failed_is_no_reason_to_wait(void)
{
    ferry_device *cpu = NULL;
    ferry_memory *m, *busy;
    ferry_ref at;
    uint64_t pending;

    wx_begin();
    if (ferry_runtime_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
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

/* The same where it was the last: there are no zeros in its place. */
static void contents_that_failed_are_lost_to_those_who_do_not_wait(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = blob_of(16);
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_fill_data(b, 3));
    wx_run_all();
    FX_FAILS(FERRY_ELOST, ferry_memory_access(ferry_blob_data_memory(b), NULL,
                                              MUTABLE | FERRY_NOWAIT, NULL, &at));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    ferry_blob_destroy(b);
    wx_end();
}

/* It was asked for, it is done, and then another memory left an event behind on that queue. */
static void what_came_after_the_question_counts(void)
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
    FERRY_TEST(a_tail_is_filled_for_the_side_that_writes),
    FERRY_TEST(a_refused_copy_that_reshapes_leaves_every_copy_valid),
    FERRY_TEST(a_refused_copy_that_reshapes_leaves_short_copies_valid),
    FERRY_TEST(a_refused_copy_that_reshapes_lengthens_nothing),
    FERRY_TEST(a_refused_copy_that_evicted_its_target_loses_nothing),
    FERRY_TEST(a_refused_fill_leaves_a_tail_that_reads_as_zeros),
    FERRY_TEST(a_refused_scale_forgets_no_copy_without_bytes),
    FERRY_TEST(a_copy_too_short_is_left_to_its_readers),
    FERRY_TEST(a_tail_on_the_host_is_left_to_its_readers),
    FERRY_TEST(a_tail_on_shared_bytes_is_left_to_its_readers),
    FERRY_TEST(a_tail_that_failed_is_none_after_a_write),
    FERRY_TEST(a_short_copy_stays_until_the_longer_one_is_there),
    FERRY_TEST(sides_that_part_for_a_refused_access_keep_their_contents),
    FERRY_TEST(an_adoption_that_is_refused_parts_no_sides),
    FERRY_TEST(work_on_no_bytes_is_not_waited_for),
    FERRY_TEST(a_copy_that_failed_is_no_reason_to_wait),
    FERRY_TEST(contents_that_failed_are_lost_to_those_who_do_not_wait),
};

static const ferry_test_case shared[] = {
    FERRY_TEST(a_tail_is_filled_for_the_side_that_writes),
    FERRY_TEST(a_refused_access_gives_shared_bytes_back),
    FERRY_TEST(a_tail_that_failed_is_none_on_either_side),
    FERRY_TEST(the_host_waits_for_every_queue_where_nothing_is_mapped),
    FERRY_TEST(a_block_that_is_replaced_is_not_waited_for),
    FERRY_TEST(what_came_after_the_question_counts),
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
