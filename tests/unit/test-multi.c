/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <string.h>

/*
 * Several devices: the sources of copies, their costs, the valid copies, and the owners of memory
 * at the end.
 */

#define OLD 0x5a
#define NEW 0x77

static void check_copies(int i, uint64_t h2d, uint64_t d2h, uint64_t d2d)
{
    ferry_device_stats s = wx_since(i);

    CU_ASSERT_EQUAL(s.copies_h2d, h2d);
    CU_ASSERT_EQUAL(s.copies_d2h, d2h);
    CU_ASSERT_EQUAL(s.copies_d2d, d2d);
    CU_ASSERT_EQUAL(s.bytes_h2d, h2d * WX_BYTES);
    CU_ASSERT_EQUAL(s.bytes_d2h, d2h * WX_BYTES);
    CU_ASSERT_EQUAL(s.bytes_d2d, d2d * WX_BYTES);
}

static void read_at(ferry_memory *m, int i)
{
    wx_access(m, wx_queue(i), FERRY_READ);
}

/* ---- prefetch ------------------------------------------------------------------------------- */

static void a_prefetch_of_uninitialised_memory_does_nothing(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory(0);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    CU_ASSERT_EQUAL(wx_valid(m), 0);
    CU_ASSERT_EQUAL(wx_since(0).allocs + wx_since(1).allocs, 0);
    check_copies(0, 0, 0, 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_prefetch_to_a_valid_copy_does_nothing(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(1, OLD);
    wx_mark();
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(1));
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(1));
    check_copies(1, 0, 1, 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_prefetch_returns_while_the_copy_is_pending(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    wx_mark();
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    CU_ASSERT(wx_pending(1) > 0);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(1));
    check_copies(1, 1, 0, 0);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    check_copies(0, 0, 0, 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_prefetch_that_is_refused_changes_nothing(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    wx_mark();
    wx_fail_next(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_memory_prefetch(m, wx_dev(0), NULL));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    wx_fail_next(1, SIM_CALL_ALLOC, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_memory_prefetch(m, wx_dev(1), NULL));
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    CU_ASSERT(wx_reads_on(wx_queue(0), m, OLD));
    ferry_memory_release(m);
    wx_end();
}

/* ---- from device to device ------------------------------------------------------------------ */

static void a_peer_copy_is_counted_at_its_target_and_leaves_the_host_stale(void)
{
    ferry_memory *m;
    uint64_t before;

    wx_begin();
    m = wx_memory_at(0, OLD);
    before = wx_counters(1).bytes_d2d;
    wx_mark();
    read_at(m, 1);
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0) | WX_DEV(1));
    CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_AT_DEVICE);
    check_copies(0, 0, 0, 0);
    check_copies(1, 0, 0, 1);
    CU_ASSERT_EQUAL(wx_counters(1).bytes_d2d - before, WX_BYTES);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    ferry_memory_release(m);
    wx_end();
}

static void a_peer_copy_waits_for_the_sources_writer(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_write_on(wx_queue(0), m, NEW);
    read_at(m, 1);
    CU_ASSERT_FALSE(wx_idle(wx_queue(1)));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    ferry_memory_release(m);
    wx_end();
}

static void a_peer_copy_is_a_reader_of_its_source(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    CU_ASSERT_FALSE(wx_idle(wx_queue(0)));
    wx_run_queue(wx_queue(1));
    CU_ASSERT(wx_idle(wx_queue(0)));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    ferry_memory_release(m);
    wx_end();
}

static void a_release_waits_for_a_peer_copy_from_it(void)
{
    ferry_memory *m, *other;

    wx_begin();
    m = wx_memory_at(0, OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    ferry_memory_release(m);
    other = wx_memory(0);
    wx_write_on(wx_queue(0), other, NEW);
    CU_ASSERT(wx_reads_on(wx_queue(0), other, NEW));
    ferry_memory_release(other);
    wx_end();
}

static void a_peer_source_is_preferred_to_the_host(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    wx_mark();
    read_at(m, 1);
    check_copies(1, 0, 0, 1);
    ferry_memory_release(m);
    wx_end();
}

static void a_lost_copy_is_not_used_as_a_source(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(1, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    wx_lose(1);
    CU_ASSERT(wx_reads_on(wx_queue(0), m, OLD));
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
}

static void a_write_invalidates_the_other_two_of_three_copies(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    for (int round = 0; round < 3; round++) {
        read_at(m, 0);
        read_at(m, 1);
        CU_ASSERT(wx_host_reads(m, (unsigned char)(OLD + round)));
        CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0) | WX_DEV(1));
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_SYNCED);
        wx_write_on(wx_queue(round % 2), m, (unsigned char)(OLD + round + 1));
        CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(round % 2));
    }
    CU_ASSERT(wx_host_reads(m, OLD + 3));
    ferry_memory_release(m);
    wx_end();
}

static void devices_access_a_memory_alternately(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    for (int round = 0; round < 50; round++) {
        unsigned char value = (unsigned char)round;

        wx_write_on(wx_queue(round % 2), m, value);
        FX_OK(ferry_memory_prefetch(m, wx_dev(1 - round % 2), NULL));
        CU_ASSERT(wx_reads_on(wx_queue(1 - round % 2), m, value));
        if (round % 5 == 0)
            CU_ASSERT(wx_host_reads(m, value));
    }
    ferry_memory_release(m);
    wx_end();
}

/* ---- through the host ----------------------------------------------------------------------- */

static void without_peer_copies_the_copy_of_the_host_becomes_valid(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_mark();
    read_at(m, 1);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0) | WX_DEV(1));
    check_copies(0, 0, 1, 0);
    check_copies(1, 1, 0, 0);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    CU_ASSERT(wx_host_reads(m, OLD));
    check_copies(0, 0, 1, 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_staged_prefetch_starts_the_copy_to_the_host(void)
{
    ferry_memory *m;
    ferry_ref ref = { NULL, 0 };

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_mark();
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    CU_ASSERT(wx_pending(0) > 0);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0));
    check_copies(0, 0, 1, 0);
    check_copies(1, 0, 0, 0);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    check_copies(0, 0, 1, 0);
    CU_ASSERT_EQUAL(wx_since(1).copies_h2d, 1);
    FX_OK(ferry_memory_access(m, wx_dev(1), FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    ferry_memory_release(m);
    wx_end();
}

static void a_staged_copy_that_fails_may_leave_the_host_valid_but_loses_nothing(void)
{
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    m = wx_memory_at(0, OLD);
    wx_fail_next(1, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_memory_access(m, wx_dev(1), FERRY_READ, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m) & ~WX_HOST, WX_DEV(0));
    CU_ASSERT(wx_reads_on(wx_queue(1), m, OLD));
    ferry_memory_release(m);
    wx_end();
}

static _Alignas(64) unsigned char own[WX_BYTES];

/* A memory whose copies on the devices are those of `lender`, so that they can be examined. */
static ferry_memory *borrowing(ferry_memory *const lender[WX_DEVICES])
{
    ferry_memory *m = wx_memory(0);

    for (int i = 0; i < WX_DEVICES; i++) {
        ferry_ref ref = wx_access(lender[i], wx_queue(i), FERRY_READ | FERRY_WRITE);

        FX_OK_FATAL(ferry_memory_adopt(m, wx_dev(i), ref, WX_BYTES, 0, NULL, NULL));
    }
    return m;
}

/* ---- other plugins -------------------------------------------------------------------------- */

static ferry_device *cpu_device(void)
{
    ferry_device *cpu = NULL;

    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu))
        ferry_test_skip("no cpu plugin: %s", ferry_last_error());
    return cpu;
}

static void sim_and_cpu_share_a_memory(void)
{
    ferry_device *cpu;
    ferry_memory *m;
    ferry_ref ref = { NULL, 0 };

    wx_begin();
    cpu = cpu_device();
    if (!cpu)
        return;
    m = wx_memory_at(0, OLD);
    wx_mark();
    FX_OK(ferry_memory_prefetch(m, cpu, NULL));
    check_copies(0, 0, 1, 0);
    FX_OK_FATAL(ferry_memory_access(m, cpu, FERRY_READ, NULL, &ref));
    CU_ASSERT_EQUAL(*(unsigned char *)ferry_device_pointer(cpu, ref), OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    check_copies(0, 0, 1, 0);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST | WX_DEV(0));
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, cpu), 1);
    FX_OK_FATAL(ferry_memory_access(m, cpu, FERRY_READ | FERRY_WRITE, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), 0);
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, cpu), 1);
    memset(ferry_device_pointer(cpu, ref), NEW, WX_BYTES);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    CU_ASSERT_EQUAL(wx_since(1).bytes_h2d, WX_BYTES);
    ferry_memory_release(m);
    wx_end();
}

static void a_kernel_of_the_cpu_waits_for_copies_that_read_its_memory(void)
{
    ferry_device *cpu;
    ferry_memory *m, *lender[WX_DEVICES] = { NULL, NULL };
    ferry_ref ref = { NULL, 0 };

    wx_begin();
    cpu = cpu_device();
    if (!cpu)
        return;
    for (int i = 0; i < WX_DEVICES; i++)
        lender[i] = wx_memory_at(i, NEW);
    m = borrowing(lender);
    wx_write_host(m, OLD);
    FX_OK(ferry_memory_prefetch(m, wx_dev(0), NULL));
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, cpu, FERRY_WRITE | FERRY_NOWAIT, NULL, &ref));
    FX_OK_FATAL(ferry_memory_access(m, cpu, FERRY_WRITE, NULL, &ref));
    memset(ferry_device_pointer(cpu, ref), NEW, WX_BYTES);
    CU_ASSERT(wx_host_reads(lender[0], OLD));
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    for (int i = 0; i < WX_DEVICES; i++)
        ferry_memory_release(lender[i]);
    wx_end();
}

/* The cpu's access detects it, and the host's bytes are the same. */
static void a_failed_copy_out_does_not_fill_the_cpu_or_the_host(void)
{
    ferry_device *cpu;
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    cpu = cpu_device();
    if (!cpu)
        return;
    m = wx_memory_at(0, OLD);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    (void)ferry_memory_access(m, cpu, FERRY_WRITE, NULL, &ref);
    if (!ferry_memory_is_valid_at(m, cpu))
        CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    wx_end();
}

static void a_blob_changes_its_home_device(void)
{
    ferry_blob *b = NULL;
    double sum = 0;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 1024 }, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 2));
    wx_mark();
    FX_OK(ferry_blob_move_to(b, wx_dev(1)));
    CU_ASSERT_PTR_EQUAL(ferry_blob_home(b), wx_dev(1));
    check_copies(1, 0, 0, 0);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_DEV(0));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)) & ~WX_HOST, WX_DEV(0) | WX_DEV(1));
    FX_OK(ferry_blob_asum_data(b, &sum));
    CU_ASSERT_EQUAL(sum, 2048);
    FX_OK(ferry_blob_move_to(b, wx_dev(0)));
    FX_OK(ferry_blob_scale_data(b, 3));
    CU_ASSERT_EQUAL(wx_valid(ferry_blob_data_memory(b)), WX_DEV(0));
    FX_OK(ferry_blob_asum_data(b, &sum));
    CU_ASSERT_EQUAL(sum, 6144);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- adopted memory ------------------------------------------------------------------------- */

static int adopt_own(ferry_memory *m, unsigned flags, int *calls)
{
    ferry_ref ref = { own, 0 };

    return ferry_memory_adopt(m, NULL, ref, WX_BYTES, flags, fx_count_call, calls);
}

static void count_and_clobber(void *arg)
{
    ++*(int *)arg;
    memset(own, OLD, sizeof(own));
}

static void a_deleter_runs_once_after_the_copies_from_its_memory(void)
{
    int calls = 0;
    ferry_memory *m, *lender[WX_DEVICES] = { NULL, NULL };
    ferry_ref ref = { own, 0 };

    wx_begin();
    memset(own, NEW, sizeof(own));
    for (int i = 0; i < WX_DEVICES; i++)
        lender[i] = wx_memory_at(i, OLD);
    m = borrowing(lender);
    FX_OK(ferry_memory_adopt(m, NULL, ref, WX_BYTES, 0, count_and_clobber, &calls));
    for (int i = 0; i < WX_DEVICES; i++)
        FX_OK(ferry_memory_prefetch(m, wx_dev(i), NULL));
    CU_ASSERT_EQUAL(calls, 0);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    for (int i = 0; i < WX_DEVICES; i++) {
        CU_ASSERT(wx_host_reads(lender[i], NEW));
        ferry_memory_release(lender[i]);
    }
    wx_end();
}

static void a_deleter_runs_when_adopted_memory_is_replaced(void)
{
    int calls = 0, others = 0;
    ferry_memory *m;
    static unsigned char more[WX_BYTES];
    ferry_ref ref = { more, 0 };

    wx_begin();
    m = wx_memory(1);
    FX_OK(adopt_own(m, 0, &calls));
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
    FX_OK(ferry_memory_adopt(m, NULL, ref, WX_BYTES, 0, fx_count_call, &others));
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(others, 1);
    wx_end();
}

static void a_device_copy_is_adopted_beside_the_others(void)
{
    int calls = 0;
    ferry_memory *m, *lender;
    ferry_ref ref;

    wx_begin();
    lender = wx_memory_at(1, NEW);
    ref = wx_access(lender, wx_queue(1), FERRY_READ | FERRY_WRITE);
    m = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(m, OLD));
    FX_OK(ferry_memory_adopt(m, wx_dev(1), ref, WX_BYTES, 0, fx_count_call, &calls));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(1));
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    wx_write_host(m, OLD);
    read_at(m, 1);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT(wx_host_reads(lender, OLD));
    ferry_memory_release(lender);
    wx_end();
}

static void a_failed_adoption_leaves_ownership_with_the_caller(void)
{
    int calls = 0;
    ferry_memory *m;
    ferry_ref none = { NULL, 0 }, ref = { own, 0 };

    wx_begin();
    m = wx_memory_at(0, OLD);
    FX_FAILS(FERRY_EINVAL, ferry_memory_adopt(m, NULL, none, WX_BYTES, 0, fx_count_call, &calls));
    FX_FAILS(FERRY_ESHAPE,
             ferry_memory_adopt(m, NULL, ref, WX_BYTES - 1, 0, fx_count_call, &calls));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 0);
    wx_end();
}

static void invalidate_invalidates_the_copies_of_all_devices(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory_at_host(OLD);
    read_at(m, 0);
    read_at(m, 1);
    wx_mark();
    FX_OK(ferry_memory_discard(m));
    CU_ASSERT_EQUAL(wx_valid(m), 0);
    CU_ASSERT_EQUAL(wx_since(0).frees + wx_since(1).frees, 0);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, 0));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(1));
    CU_ASSERT(wx_host_reads(m, 0));
    ferry_memory_release(m);
    wx_end();
}

static const ferry_test_case manual_cases[] = {
    FERRY_TEST(a_prefetch_of_uninitialised_memory_does_nothing),
    FERRY_TEST(a_prefetch_to_a_valid_copy_does_nothing),
    FERRY_TEST(a_prefetch_returns_while_the_copy_is_pending),
    FERRY_TEST(a_prefetch_that_is_refused_changes_nothing),
    FERRY_TEST(a_peer_copy_is_counted_at_its_target_and_leaves_the_host_stale),
    FERRY_TEST(a_peer_copy_waits_for_the_sources_writer),
    FERRY_TEST(a_peer_copy_is_a_reader_of_its_source),
    FERRY_TEST(a_release_waits_for_a_peer_copy_from_it),
    FERRY_TEST(a_peer_source_is_preferred_to_the_host),
    FERRY_TEST(a_write_invalidates_the_other_two_of_three_copies),
    FERRY_TEST(devices_access_a_memory_alternately),
    FERRY_TEST(sim_and_cpu_share_a_memory),
    FERRY_TEST(a_kernel_of_the_cpu_waits_for_copies_that_read_its_memory),
    FERRY_TEST(a_failed_copy_out_does_not_fill_the_cpu_or_the_host),
    FERRY_TEST(a_blob_changes_its_home_device),
    FERRY_TEST(a_deleter_runs_once_after_the_copies_from_its_memory),
    FERRY_TEST(a_deleter_runs_when_adopted_memory_is_replaced),
    FERRY_TEST(a_device_copy_is_adopted_beside_the_others),
    FERRY_TEST(a_failed_adoption_leaves_ownership_with_the_caller),
    FERRY_TEST(invalidate_invalidates_the_copies_of_all_devices),
    FERRY_TEST(a_lost_copy_is_not_used_as_a_source),
};

static const ferry_test_case no_peer_cases[] = {
    FERRY_TEST(without_peer_copies_the_copy_of_the_host_becomes_valid),
    FERRY_TEST(a_staged_prefetch_starts_the_copy_to_the_host),
    FERRY_TEST(a_staged_copy_that_fails_may_leave_the_host_valid_but_loses_nothing),
    FERRY_TEST(a_write_invalidates_the_other_two_of_three_copies),
    FERRY_TEST(devices_access_a_memory_alternately),
    FERRY_TEST(sim_and_cpu_share_a_memory),
    FERRY_TEST(a_deleter_runs_once_after_the_copies_from_its_memory),
};

/* A copy takes long enough here that a missing wait is detected. */
static const ferry_test_case real_cases[] = {
    FERRY_TEST(a_prefetch_to_a_valid_copy_does_nothing),
    FERRY_TEST(a_write_invalidates_the_other_two_of_three_copies),
    FERRY_TEST(devices_access_a_memory_alternately),
    FERRY_TEST(sim_and_cpu_share_a_memory),
    FERRY_TEST(a_blob_changes_its_home_device),
    FERRY_TEST(a_deleter_runs_when_adopted_memory_is_replaced),
    FERRY_TEST(a_device_copy_is_adopted_beside_the_others),
    FERRY_TEST(invalidate_invalidates_the_copies_of_all_devices),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static const char *const no_peer[] = { "clock", "manual", "peer", "off", NULL };
    static const char *const real[] = { "latency", "500", "op_latency", "300", NULL };
    static const char *const slow[] = { "latency", "500", "peer", "off", NULL };
    static const struct wx_world worlds[] = {
        { "manual clock", manual, manual_cases, FERRY_TEST_COUNT(manual_cases) },
        { "without peer copies", no_peer, no_peer_cases, FERRY_TEST_COUNT(no_peer_cases) },
        { "real clock", real, real_cases, FERRY_TEST_COUNT(real_cases) },
        { "real clock without peer copies", slow, real_cases, FERRY_TEST_COUNT(real_cases) },
    };

    return wx_main(argc, argv, "multi", worlds, FERRY_TEST_COUNT(worlds));
}
