/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

/*
 * A blob has one home, whatever it shares: ferry_blob_home names it, and every accessor of a
 * device's data or diff returns references there.
 */

#define COUNT (WX_BYTES / 4)

static ferry_blob *blob_on(int i, double data, double diff)
{
    const int64_t shape[] = { COUNT };
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(wx_dev(i), FERRY_F32, shape, 1, &b));
    FX_OK(ferry_blob_fill_data(b, data));
    FX_OK(ferry_blob_fill_diff(b, diff));
    return b;
}

/* A reference, by whether that device can compute with it. */
static void check_at(int i, ferry_cref ref, double value)
{
    double sum = -1;

    CU_ASSERT_PTR_NOT_NULL(ref.handle);
    FX_OK(ferry_math_asum(wx_queue(i), FERRY_F32, COUNT, ref, &sum));
    CU_ASSERT_EQUAL(sum, COUNT * value);
}

static void check_home(ferry_blob *b, int i, double data, double diff)
{
    ferry_memory *seen;
    ferry_cref shape;

    CU_ASSERT_PTR_EQUAL(ferry_blob_home(b), wx_dev(i));
    check_at(i, ferry_blob_device_data(b), data);
    check_at(i, ferry_blob_device_diff(b), diff);
    check_at(i, ferry_ref_const(ferry_blob_mutable_device_diff(b)), diff);
    check_at(i, ferry_blob_device_diff(b), diff);
    shape = ferry_blob_device_shape(b);
    seen = wx_memory(i);
    FX_OK(ferry_math_copy(wx_queue(i), FERRY_I32, 1, shape,
                          wx_access(seen, wx_queue(i), FERRY_WRITE)));
    CU_ASSERT_EQUAL(*(const int32_t *)ferry_memory_host_data(seen), COUNT);
    ferry_memory_release(seen);
}

static void a_sharer_of_data_has_the_other_blob_s_home(void)
{
    ferry_blob *a, *b;

    wx_begin();
    a = blob_on(0, 1, 2);
    b = blob_on(1, 3, 4);
    check_home(b, 1, 3, 4);
    FX_OK(ferry_blob_share_data(b, a));
    check_home(b, 0, 1, 4);
    check_home(a, 0, 1, 2);
    CU_ASSERT_PTR_EQUAL(ferry_blob_device_data(a).handle, ferry_blob_device_data(b).handle);
    ferry_blob_destroy(a);
    check_home(b, 0, 1, 4);
    ferry_blob_destroy(b);
    wx_end();
}

static void a_sharer_of_diff_has_the_other_blob_s_home(void)
{
    ferry_blob *a, *b;

    wx_begin();
    a = blob_on(0, 1, 2);
    b = blob_on(1, 3, 4);
    check_home(b, 1, 3, 4);
    FX_OK(ferry_blob_share_diff(b, a));
    check_home(b, 0, 3, 2);
    check_home(a, 0, 1, 2);
    CU_ASSERT_PTR_EQUAL(ferry_blob_device_diff(a).handle, ferry_blob_device_diff(b).handle);
    ferry_blob_destroy(b);
    check_home(a, 0, 1, 2);
    ferry_blob_destroy(a);
    wx_end();
}

/* If one blob moves, the others that share a half of it find the data in one place. */
static void sharers_of_a_half_have_one_home_after_a_move(void)
{
    ferry_blob *a, *data, *diff, *slice = NULL;

    wx_begin();
    a = blob_on(0, 1, 2);
    data = blob_on(0, 3, 4);
    diff = blob_on(0, 5, 6);
    FX_OK(ferry_blob_share_data(data, a));
    FX_OK(ferry_blob_share_diff(diff, a));
    FX_OK_FATAL(ferry_blob_slice(a, 0, COUNT, &slice));
    check_home(data, 0, 1, 4);
    check_home(diff, 0, 5, 2);
    FX_OK(ferry_blob_move_to(a, wx_dev(1)));
    check_home(a, 1, 1, 2);
    check_home(slice, 1, 1, 2);
    check_home(data, 1, 1, 4);
    check_home(diff, 0, 5, 2);
    check_home(a, 1, 1, 2);
    FX_OK(ferry_blob_update(diff));
    check_home(diff, 0, 3, 2);
    FX_OK(ferry_blob_scale_diff(data, 2));
    check_home(data, 1, 1, 8);
    FX_OK(ferry_blob_copy_from(diff, data, FERRY_COPY_DIFF));
    check_home(a, 1, 1, 8);
    ferry_blob_destroy(a);
    ferry_blob_destroy(data);
    ferry_blob_destroy(diff);
    ferry_blob_destroy(slice);
    wx_end();
}

static void a_refused_share_moves_no_home(void)
{
    const int64_t shape[] = { 3 };
    ferry_blob *a = NULL, *b;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, shape, 1, &a));
    b = blob_on(1, 3, 4);
    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_data(b, a));
    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_diff(b, a));
    check_home(b, 1, 3, 4);
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_sharer_of_data_has_the_other_blob_s_home),
    FERRY_TEST(a_sharer_of_diff_has_the_other_blob_s_home),
    FERRY_TEST(sharers_of_a_half_have_one_home_after_a_move),
    FERRY_TEST(a_refused_share_moves_no_home),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "clock", "manual", NULL };
    static const char *const staged[] = { "clock", "manual", "peer", "off", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "peer copies", direct, cases, FERRY_TEST_COUNT(cases) },
        { "through the host", staged, cases, FERRY_TEST_COUNT(cases) },
        { "shared memory", shared, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "homes", worlds, FERRY_TEST_COUNT(worlds));
}
