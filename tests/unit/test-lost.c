/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <string.h>

/*
 * A lost device that is the home of memories or the owner of their host blocks: contents that are
 * valid elsewhere can be read and written. A lost device stays lost, so each case has a world of
 * its own.
 */

#define OLD 0x5a
#define NEW 0x77

#define MANY 6

/*
 * Memories whose home is dev0: dev1 has the contents, alone, together with dev0, or together with
 * the host.
 */
static ferry_memory *held_by_the_other(int i)
{
    ferry_memory *m = wx_memory(0);

    if (i % 3 == 2)
        wx_write_host(m, OLD);
    else
        wx_write_on(wx_queue(i % 3 == 0), m, OLD);
    wx_access(m, wx_queue(1), FERRY_READ);
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    FX_OK(ferry_device_synchronize(wx_dev(1)));
    return m;
}

static void make_all(ferry_memory *m[MANY])
{
    wx_begin();
    for (int i = 0; i < MANY; i++)
        m[i] = held_by_the_other(i);
}

static void release_all(ferry_memory *m[MANY])
{
    for (int i = 0; i < MANY; i++)
        ferry_memory_release(m[i]);
    CU_ASSERT_EQUAL(wx_counters(0).live_imports, 0);
    wx_run_all();
}

static void the_host_reads_and_writes_contents_of_the_other_device(void)
{
    ferry_memory *m[MANY];

    make_all(m);
    wx_lose(0);
    for (int i = 0; i < MANY; i++) {
        unsigned char *p;

        CU_ASSERT(wx_host_reads(m[i], OLD));
        p = ferry_memory_mutable_host_data(m[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT(fx_all_equal(p, OLD));
        memset(p, NEW, WX_BYTES);
        CU_ASSERT(wx_reads_on(wx_queue(1), m[i], NEW));
    }
    release_all(m);
}

static void the_host_overwrites_contents_of_the_other_device(void)
{
    ferry_memory *m[MANY];

    make_all(m);
    wx_lose(0);
    for (int i = 0; i < MANY; i++) {
        wx_write_host(m[i], NEW);
        CU_ASSERT(wx_host_reads(m[i], NEW));
        CU_ASSERT(wx_reads_on(wx_queue(1), m[i], NEW));
    }
    release_all(m);
}

/* ferry treats the lost copy as missing in both cases. */
static void work_runs_on_a_device_with_a_remaining_copy(void)
{
    const int64_t shape[] = { 1024 };
    ferry_blob *b[2] = { NULL, NULL };
    double sum = 0;
    ferry_ref ref;

    wx_begin();
    for (int i = 0; i < 2; i++) {
        FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, shape, 1, &b[i]));
        FX_OK(ferry_blob_fill_data(b[i], 2));
        FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b[i]), i ? NULL : wx_dev(1), NULL));
    }
    wx_run_all();
    FX_OK(ferry_device_synchronize(wx_dev(1)));
    /* both have been waited for, so that the contents they were made from did not fail */
    FX_OK(ferry_memory_access(ferry_blob_data_memory(b[0]), wx_dev(1), FERRY_READ, NULL, &ref));
    CU_ASSERT(ferry_blob_host_data(b[1]) != NULL);
    wx_lose(0);
    FX_FAILS(FERRY_ELOST, ferry_device_synchronize(wx_dev(0)));
    for (int i = 0; i < 2; i++) {
        FX_OK(ferry_blob_scale_data(b[i], 3));
        FX_OK(ferry_blob_asum_data(b[i], &sum));
        CU_ASSERT_EQUAL(sum, 6144);
        ferry_blob_destroy(b[i]);
    }
}

/* Each on blobs of its own: the first call detects the loss. */
static void arithmetic_goes_on_where_the_contents_are(int which)
{
    const int64_t n = 1024;
    ferry_blob *b = NULL, *copy = NULL;
    double sum = 0;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, &n, 1, &b));
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, &n, 1, &copy));
    FX_OK(ferry_blob_fill_data(b, 3));
    FX_OK(ferry_blob_fill_diff(b, 1));
    CU_ASSERT(ferry_blob_host_data(b) && ferry_blob_host_diff(b));
    wx_lose(0);
    switch (which) {
    case 0:
        FX_OK(ferry_blob_scale_data(b, 2));
        break;
    case 1:
        FX_OK(ferry_blob_fill_data(b, 6));
        break;
    case 2:
        FX_OK(ferry_blob_copy_from(copy, b, 0));
        break;
    case 3:
        FX_OK(ferry_blob_update(b));
        break;
    }
    FX_OK(ferry_blob_asum_data(which == 2 ? copy : b, &sum));
    CU_ASSERT_EQUAL(sum, (double)n * (which < 2 ? 6 : which == 3 ? 2 : 3));
    ferry_blob_destroy(b);
    ferry_blob_destroy(copy);
}

static void after_a_loss_scale_runs_on_the_side_with_the_contents(void)
{
    arithmetic_goes_on_where_the_contents_are(0);
}

static void after_a_loss_fill_runs_on_the_side_with_the_contents(void)
{
    arithmetic_goes_on_where_the_contents_are(1);
}

static void after_a_loss_a_copy_runs_on_the_side_with_the_contents(void)
{
    arithmetic_goes_on_where_the_contents_are(2);
}

static void after_a_loss_an_update_runs_on_the_side_with_the_contents(void)
{
    arithmetic_goes_on_where_the_contents_are(3);
}

static void after_a_loss_a_sum_runs_on_the_side_with_the_contents(void)
{
    arithmetic_goes_on_where_the_contents_are(4);
}

/* Contents that only the lost device had are lost, and can be written again. */
static void lost_contents_can_be_written_on_the_host(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    wx_write_on(wx_queue(0), m, OLD);
    wx_run_all();
    wx_lose(0);
    FX_FAILED(FERRY_ELOST, ferry_memory_host_data(m) == NULL);
    wx_write_host(m, NEW);
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(wx_counters(0).live_imports, 0);
}

/* The other device's copy was being made from the lost one, and the host has the contents. */
static void a_copy_lost_with_a_device_is_fetched_from_another(void)
{
    ferry_memory *m, *ahead;
    ferry_ref ref;

    wx_begin();
    m = wx_memory_at_host(OLD);
    ahead = wx_memory_at_host(NEW);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    FX_OK(ferry_memory_prefetch(ahead, wx_dev(0), NULL));
    wx_access(m, wx_queue(1), FERRY_READ);
    wx_access(ahead, wx_queue(1), FERRY_READ);
    wx_lose(0);
    FX_OK(ferry_memory_prefetch(ahead, wx_dev(1), NULL));
    CU_ASSERT(wx_reads_on(wx_queue(1), ahead, NEW));
    ferry_memory_release(ahead);
    FX_OK(ferry_memory_access(m, wx_dev(1), FERRY_READ | FERRY_WRITE, NULL, &ref));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(1));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
}

/*
 * A longer tail on the lost device does not invalidate the remaining contents: they are there as
 * long as the blob is not longer. A longer one has lost bytes until it is written.
 */
static void grow_after_a_loss(bool known)
{
    const int64_t all = 1024, few = 16, more = 32;
    ferry_blob *b = NULL;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, &all, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 2));
    FX_OK(ferry_blob_reshape(b, &few, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    wx_lose(0);
    if (known)
        FX_FAILS(FERRY_ELOST, ferry_device_synchronize(wx_dev(0)));
    FX_OK(ferry_blob_reshape(b, &more, 1, NULL));
    FX_FAILED(FERRY_ELOST, ferry_blob_host_data(b) == NULL);
    FX_FAILED(FERRY_ELOST, ferry_blob_mutable_host_data(b) == NULL);
    FX_OK(ferry_blob_reshape(b, &few, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[15], 2);
    FX_OK(ferry_blob_reshape(b, &more, 1, NULL));
    FX_FAILED(FERRY_ELOST, ferry_blob_host_data(b) == NULL);
    FX_OK(ferry_blob_fill_data(b, 3));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[31], 3);
    FX_OK(ferry_blob_reshape(b, &all, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[1023], 0);
    ferry_blob_destroy(b);
}

/*
 * A blob that had 1,024 values 2 on dev0, of which 16 are left on dev1, its home; dev0 is lost.
 */
static ferry_blob *short_of_a_lost_one(void)
{
    const int64_t all = 1024, few = 16;
    ferry_blob *b = NULL;
    ferry_ref ref;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(1), FERRY_F32, &all, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 2));
    FX_OK(ferry_memory_access(ferry_blob_data_memory(b), wx_dev(0), FERRY_READ | FERRY_WRITE, NULL,
                              &ref));
    FX_OK(ferry_blob_reshape(b, &few, 1, NULL));
    FX_OK(ferry_memory_prefetch(ferry_blob_data_memory(b), wx_dev(1), NULL));
    wx_run_all();
    FX_OK(ferry_device_synchronize(wx_dev(1)));
    FX_OK(ferry_memory_access(ferry_blob_data_memory(b), wx_dev(1), FERRY_READ, NULL, &ref));
    wx_lose(0);
    FX_FAILS(FERRY_ELOST, ferry_device_synchronize(wx_dev(0)));
    return b;
}

/* The first and the last value at the host; false, and the error recorded, if it cannot be read. */
static bool ends_are(ferry_blob *b, float first, float last)
{
    const float *p = ferry_blob_host_data(b);

    return p && p[0] == first && p[ferry_blob_element_count(b) - 1] == last;
}

/* A write drops the lost tail, like every other copy: it reads as zeros then. */
static void a_write_drops_a_lost_tail(void)
{
    const int64_t all = 1024;
    ferry_blob *b = short_of_a_lost_one();

    FX_OK(ferry_blob_scale_data(b, 2));
    FX_OK(ferry_blob_reshape(b, &all, 1, NULL));
    CU_ASSERT(ends_are(b, 4, 0));
    ferry_blob_destroy(b);
}

/* An operation that is refused has written nothing. */
static void a_refused_operation_leaves_a_lost_tail_lost(void)
{
    const int64_t all = 1024, few = 16;
    ferry_blob *b = short_of_a_lost_one();

    wx_fail_next(1, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_scale_data(b, 2));
    FX_OK(ferry_blob_reshape(b, &all, 1, NULL));
    FX_FAILED(FERRY_ELOST, ferry_blob_host_data(b) == NULL);
    FX_OK(ferry_blob_reshape(b, &few, 1, NULL));
    CU_ASSERT(ends_are(b, 2, 2));
    ferry_blob_destroy(b);
}

static void the_loss_of_a_longer_copy_invalidates_no_shorter_copy(void)
{
    grow_after_a_loss(true);
}

static void an_undetected_loss_invalidates_no_shorter_copy(void)
{
    grow_after_a_loss(false);
}

/*
 * The copy that the budget evicts may have been the last one, though ferry does not know of the
 * loss yet.
 */
static void the_last_copy_besides_one_on_a_lost_device_is_not_evicted(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(1, OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    wx_run_all();
    wx_access(m, wx_queue(0), FERRY_READ); /* the copy is known to be complete */
    FX_OK(ferry_memory_allow_eviction(m));
    wx_lose(0);
    FX_OK(ferry_device_set_budget(wx_dev(1), 1));
    FX_OK(ferry_device_set_budget(wx_dev(1), 0));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
}

/* A copy from the lost device into the block that the home shares was pending, for old contents. */
static void invalidated_contents_are_not_reported_as_lost(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_write_on(wx_queue(1), m, NEW);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    FX_OK(ferry_memory_discard(m));
    wx_lose(1);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    CU_ASSERT(wx_host_reads(m, 0));
    ferry_memory_release(m);
}

/* As above, if other contents have to be copied through that block. */
static void replaced_contents_are_not_reported_as_lost(void)
{
    static _Alignas(64) unsigned char block[WX_BYTES];
    ferry_device *cpu = NULL;
    ferry_memory *m;

    wx_begin();
    if (ferry_runtime_get_device(wx_runtime(), "cpu:0", &cpu) == FERRY_OK) {
        m = wx_memory_at(0, OLD);
        memset(block, NEW, sizeof(block));
        wx_write_on(wx_queue(1), m, OLD);
        FX_OK(ferry_memory_prefetch(m, NULL, NULL));
        FX_OK(ferry_memory_adopt(m, cpu, (ferry_ref){ block, 0 }, WX_BYTES, 0, NULL, NULL));
        wx_lose(1);
        CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
        ferry_memory_release(m);
    }
}

/* As above, if the lost device shares the host's block and another device has the contents. */
static void a_shared_block_lost_with_a_device_is_fetched_from_another(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory(1);
    wx_write_on(wx_queue(0), m, OLD);
    wx_run_all();
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    wx_lose(1);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
}

/* The lost device shares the host's block, which is being copied to the other device. */
static void a_nowait_access_takes_no_shared_block_back(void)
{
    ferry_ref ref;
    ferry_memory *m;

    wx_begin();
    m = wx_memory(1);
    wx_write_host(m, OLD);
    wx_access(m, wx_queue(1), FERRY_READ);
    wx_run_all();
    wx_access(m, wx_queue(0), FERRY_READ);
    wx_lose(1);
    FX_FAILS(FERRY_ELOST, ferry_device_synchronize(wx_dev(1)));
    FX_FAILS(FERRY_EBUSY,
             ferry_memory_access(m, NULL, FERRY_READ | FERRY_WRITE | FERRY_NOWAIT, NULL, &ref));
    wx_run_all();
    FX_OK(ferry_memory_access(m, NULL, FERRY_READ | FERRY_WRITE | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT(fx_all_equal(ref.handle, OLD));
    ferry_memory_release(m);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_host_reads_and_writes_contents_of_the_other_device),
    FERRY_TEST(the_host_overwrites_contents_of_the_other_device),
    FERRY_TEST(work_runs_on_a_device_with_a_remaining_copy),
    FERRY_TEST(lost_contents_can_be_written_on_the_host),
    FERRY_TEST(a_copy_lost_with_a_device_is_fetched_from_another),
    FERRY_TEST(the_loss_of_a_longer_copy_invalidates_no_shorter_copy),
    FERRY_TEST(invalidated_contents_are_not_reported_as_lost),
    FERRY_TEST(replaced_contents_are_not_reported_as_lost),
    FERRY_TEST(a_shared_block_lost_with_a_device_is_fetched_from_another),
    FERRY_TEST(an_undetected_loss_invalidates_no_shorter_copy),
    FERRY_TEST(the_last_copy_besides_one_on_a_lost_device_is_not_evicted),
    FERRY_TEST(after_a_loss_scale_runs_on_the_side_with_the_contents),
    FERRY_TEST(after_a_loss_fill_runs_on_the_side_with_the_contents),
    FERRY_TEST(after_a_loss_a_copy_runs_on_the_side_with_the_contents),
    FERRY_TEST(after_a_loss_an_update_runs_on_the_side_with_the_contents),
    FERRY_TEST(after_a_loss_a_sum_runs_on_the_side_with_the_contents),
    FERRY_TEST(a_write_drops_a_lost_tail),
    FERRY_TEST(a_refused_operation_leaves_a_lost_tail_lost),
    FERRY_TEST(a_nowait_access_takes_no_shared_block_back),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "clock", "manual", NULL };
    static const char *const staged[] = { "clock", "manual", "peer", "off", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const mixed[] = { "clock", "manual", "unified", "odd", NULL };
    static const char *const unmapped[] = {
        "clock", "manual", "unified", "on", "map", "off", NULL
    };
    static const struct wx_world worlds[] = {
        { "a read, peer copies", direct, cases, 1 },
        { "a write, peer copies", direct, cases + 1, 1 },
        { "work, peer copies", direct, cases + 2, 1 },
        { "lost, peer copies", direct, cases + 3, 1 },
        { "a copy, peer copies", direct, cases + 4, 1 },
        { "a longer copy, peer copies", direct, cases + 5, 1 },
        { "a read, through the host", staged, cases, 1 },
        { "a write, through the host", staged, cases + 1, 1 },
        { "a read, shared memory", shared, cases, 1 },
        { "a write, shared memory", shared, cases + 1, 1 },
        { "work, shared memory", shared, cases + 2, 1 },
        { "lost, shared memory", shared, cases + 3, 1 },
        { "forgotten, shared memory", shared, cases + 6, 1 },
        { "replaced, shared memory", shared, cases + 7, 1 },
        { "replaced, peer copies", direct, cases + 7, 1 },
        { "a side, mixed", mixed, cases + 8, 1 },
        { "unheard of, peer copies", direct, cases + 9, 1 },
        { "unheard of, mixed", mixed, cases + 9, 1 },
        { "an eviction, peer copies", direct, cases + 10, 1 },
        { "an eviction, through the host", staged, cases + 10, 1 },
        { "a scale, peer copies", direct, cases + 11, 1 },
        { "a fill, peer copies", direct, cases + 12, 1 },
        { "a copy from, peer copies", direct, cases + 13, 1 },
        { "an update, peer copies", direct, cases + 14, 1 },
        { "a sum, peer copies", direct, cases + 15, 1 },
        { "a scale, shared memory", shared, cases + 11, 1 },
        { "a sum, shared memory", shared, cases + 15, 1 },
        { "a read, without maps", unmapped, cases, 1 },
        { "lost, without maps", unmapped, cases + 3, 1 },
        { "a tail, peer copies", direct, cases + 16, 1 },
        { "a tail, through the host", staged, cases + 16, 1 },
        { "a tail, shared memory", shared, cases + 16, 1 },
        { "a tail, mixed", mixed, cases + 16, 1 },
        { "a refusal, peer copies", direct, cases + 17, 1 },
        { "a refusal, through the host", staged, cases + 17, 1 },
        { "a refusal, shared memory", shared, cases + 17, 1 },
        { "a refusal, mixed", mixed, cases + 17, 1 },
        { "a block, shared memory", shared, cases + 18, 1 },
    };

    return wx_main(argc, argv, "lost", worlds, FERRY_TEST_COUNT(worlds));
}
