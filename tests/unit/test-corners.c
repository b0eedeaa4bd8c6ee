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

static const ferry_test_case cases[] = {
    FERRY_TEST(a_tail_is_filled_for_the_side_that_writes),
    FERRY_TEST(a_refused_copy_that_reshapes_leaves_every_copy_valid),
    FERRY_TEST(a_refused_fill_leaves_a_tail_that_reads_as_zeros),
    FERRY_TEST(work_on_no_bytes_is_not_waited_for),
};

static const ferry_test_case shared[] = {
    FERRY_TEST(a_tail_is_filled_for_the_side_that_writes),
};

int main(int argc, char **argv)
{
    static const char *const discrete[] = { "clock", "manual", NULL };
    static const char *const unified[] = { "clock", "manual", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "discrete", discrete, cases, FERRY_TEST_COUNT(cases) },
        { "unified", unified, shared, FERRY_TEST_COUNT(shared) },
    };

    return wx_main(argc, argv, "corners", worlds, FERRY_TEST_COUNT(worlds));
}
