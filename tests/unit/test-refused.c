/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

/* The state after rejected calls, in cases that random programs (tests/random) found. */

#define MUTABLE (FERRY_READ | FERRY_WRITE)

static void a_refused_copy_with_reshape_leaves_every_copy_valid(void)
{
    ferry_blob *b, *longer;
    unsigned before;

    wx_begin();
    b = wx_blob(16);
    longer = wx_blob(12);
    wx_put(longer, 100);
    wx_put(b, 1);
    wx_reshape(b, 4); /* the device gets four of the sixteen */
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    for (unsigned nth = 1; nth < 20; nth++) {
        int err;

        wx_put(longer, 100);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(longer).handle);
        wx_fail_next(0, SIM_CALL_ANY, nth, FERRY_EDEVICE);
        err = ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        if (!err)
            break;
        CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
        CU_ASSERT_EQUAL(ferry_blob_element_count(b), 4);
    }
    CU_ASSERT(wx_holds(b, 0, 12, 100));
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/* The host has only two of the four elements that the device has, and keeps them. */
static void a_refused_copy_with_reshape_leaves_short_copies_valid(void)
{
    ferry_blob *b, *longer;
    unsigned before;

    wx_begin();
    b = wx_blob(16);
    longer = wx_blob(12);
    wx_reshape(b, 2);
    wx_put(b, 1);
    wx_reshape(b, 4);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    FX_OK(ferry_blob_fill_data(longer, 3));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
    CU_ASSERT(wx_holds(b, 0, 2, 1));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[3], 0);
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/*
 * The call does not add elements to a copy either: a later write leaves no invalid elements at the
 * end.
 */
static void a_refused_copy_with_reshape_leaves_the_length_unchanged(void)
{
    ferry_blob *b, *longer;

    wx_begin();
    b = wx_blob(12);
    longer = wx_blob(12);
    FX_OK(ferry_blob_fill_data(b, 9));
    FX_OK(ferry_memory_discard(ferry_blob_data_memory(b)));
    wx_put(b, 1);
    wx_reshape(b, 2);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_OK(ferry_blob_fill_data(longer, 3));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_device_data(b).handle);
    wx_reshape(b, 12);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 0);
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/*
 * Allocating room for the copy evicts the blob itself, and then there is still not enough memory.
 */
static void a_refused_copy_that_evicted_its_target_loses_nothing(void)
{
    ferry_blob *b, *longer;

    wx_begin();
    b = wx_blob(16);
    longer = wx_blob(12);
    wx_put(longer, 100);
    wx_put(b, 1);
    wx_reshape(b, 4);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_memory_allow_eviction(ferry_blob_data_memory(b)));
    FX_OK(ferry_device_set_budget(wx_dev(0), 64)); /* the elements of b and no others */
    FX_OK(ferry_memory_discard(ferry_blob_data_memory(longer)));
    (void)ferry_blob_copy_from(b, longer, FERRY_COPY_RESHAPE);
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    if (ferry_blob_element_count(b) == 4)
        CU_ASSERT(wx_holds(b, 0, 4, 1));
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    ferry_blob_destroy(b);
    ferry_blob_destroy(longer);
    wx_end();
}

/*
 * The call would have written all elements and failed: elements that were never filled must not be
 * valid.
 */
static void a_refused_fill_leaves_a_tail_that_reads_as_zeros(void)
{
    ferry_blob *b;
    ferry_ref at;

    wx_begin();
    b = wx_blob(12);
    wx_reshape(b, 4);
    at = ferry_blob_overwrite_device_data(b);
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, 4, 3, at));
    wx_reshape(b, 12);
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(ferry_blob_fill_data(b, 9), FERRY_EDEVICE);
    wx_fail_next(0, SIM_CALL_OP, 0, 0);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[0], 3);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[11], 0);
    ferry_blob_destroy(b);
    wx_end();
}

/*
 * Both copies were allocated when there was nothing to copy; the one to be scaled is filled with
 * zeros first.
 */
static void a_refused_scale_keeps_valid_copies_that_had_no_bytes(void)
{
    ferry_blob *b;
    unsigned before;

    wx_begin();
    b = wx_blob(8);
    wx_reshape(b, 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), NULL, NULL));
    wx_reshape(b, 6);
    before = wx_valid(ferry_blob_data_memory(b));
    CU_ASSERT_EQUAL(before, WX_HOST | WX_DEV(0));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_scale_data(b, 0));
    wx_fail_next(0, SIM_CALL_OP, 0, 0);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), before);
    ferry_blob_destroy(b);
    wx_end();
}

/*
 * The device gets the bytes to fill the end with zeros, which fails; then the host has them again.
 */
static void a_refused_access_returns_shared_bytes_to_their_side(void)
{
    ferry_blob *b;
    unsigned nth = 0;
    int err;

    wx_begin();
    do {
        b = wx_blob(5);
        wx_reshape(b, 2);
        wx_put(b, 1);
        wx_reshape(b, 5);
        wx_fail_next(0, SIM_CALL_ANY, ++nth, FERRY_EDEVICE);
        err = ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(0), NULL);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        wx_reshape(b, 2);                /* and nothing remains to be filled */
        CU_ASSERT(wx_holds(b, 0, 2, 1)); /* the host would crash if the device owned it */
        wx_reshape(b, 5);
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[4], 0);
        ferry_blob_destroy(b);
    } while (err && nth < 20);
    CU_ASSERT(nth > 1 && !err);
    wx_end();
}

/* An access that separates the two sides of read-only memory and is then rejected loses no data. */
static void a_refused_access_to_unshared_bytes_loses_no_contents(void)
{
    static _Alignas(64) float block[4];
    ferry_device *cpu = NULL;
    ferry_memory *m = NULL;
    ferry_ref at;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
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

/*
 * Memory that the program gave to a device with host memory remains the host's too if the device's
 * own allocation fails.
 */
static void a_refused_adoption_leaves_shared_bytes_shared(void)
{
    static _Alignas(64) float given[16], refused[16];
    ferry_device *cpu = NULL;
    ferry_memory *m = NULL;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        FX_OK_FATAL(ferry_memory_create(wx_dev(0), sizeof(given), &m));
        FX_OK(ferry_memory_adopt(m, cpu, (ferry_ref){ given, 0 }, sizeof(given), 0, NULL, NULL));
        FX_OK(
            ferry_math_fill(wx_queue(0), FERRY_F32, 16, 3, wx_access(m, wx_queue(0), FERRY_WRITE)));
        FX_OK(ferry_memory_prefetch(m, cpu, NULL)); /* on its way to the host */
        wx_fail_next(0, SIM_CALL_EVENT, 1, FERRY_EDEVICE);
        FX_FAILS(FERRY_EDEVICE, ferry_memory_adopt(m, NULL, (ferry_ref){ refused, 0 },
                                                   sizeof(refused), 0, NULL, NULL));
        CU_ASSERT_EQUAL(((const float *)ferry_memory_host_data(m))[15], 3);
        ferry_memory_release(m);
    }
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_refused_copy_with_reshape_leaves_every_copy_valid),
    FERRY_TEST(a_refused_copy_with_reshape_leaves_short_copies_valid),
    FERRY_TEST(a_refused_copy_with_reshape_leaves_the_length_unchanged),
    FERRY_TEST(a_refused_copy_that_evicted_its_target_loses_nothing),
    FERRY_TEST(a_refused_fill_leaves_a_tail_that_reads_as_zeros),
    FERRY_TEST(a_refused_scale_keeps_valid_copies_that_had_no_bytes),
    FERRY_TEST(a_refused_access_to_unshared_bytes_loses_no_contents),
    FERRY_TEST(a_refused_adoption_leaves_shared_bytes_shared),
};

static const ferry_test_case shared[] = {
    FERRY_TEST(a_refused_access_returns_shared_bytes_to_their_side),
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

    return wx_main(argc, argv, "refused", worlds, FERRY_TEST_COUNT(worlds));
}
