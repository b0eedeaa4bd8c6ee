/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <string.h>

/*
 * Several devices that share the host's memory: the host's block belongs to one device, and
 * transfers through it count as that device's.
 */

#define OLD 0x5a
#define NEW 0x77

static ferry_device *cpu_device(void)
{
    ferry_device *cpu = NULL;

    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu))
        ferry_test_skip("no cpu plugin: %s", ferry_last_error());
    return cpu;
}

/*
 * dev1 is the home, but the host's block belongs to dev0: bytes for a third device come from there.
 */
static void a_third_device_reads_from_the_shared_block(void)
{
    static const unsigned accesses[] = { FERRY_READ, FERRY_READ | FERRY_WRITE };

    for (int i = 0; i < 2; i++) {
        const int64_t shape[] = { WX_BYTES };
        ferry_ref ref = { NULL, 0 };
        ferry_blob *b = NULL;
        ferry_device *cpu;
        ferry_memory *m;

        wx_begin();
        cpu = cpu_device();
        if (!cpu)
            return;
        FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_U8, shape, 1, &b));
        FX_OK(ferry_blob_fill_data(b, OLD));
        m = ferry_blob_data_memory(b);
        wx_access(m, wx_queue(1), FERRY_READ);
        FX_OK(ferry_blob_move_to(b, wx_dev(1)));
        wx_mark();
        FX_OK_FATAL(ferry_memory_access(m, cpu, accesses[i], NULL, &ref));
        CU_ASSERT(fx_all_equal(ferry_device_pointer(cpu, ref), OLD));
        CU_ASSERT_EQUAL(wx_since(0).copies_d2h + wx_since(1).copies_d2h, 0);
        CU_ASSERT(wx_host_reads(m, OLD));
        ferry_blob_destroy(b);
        wx_end();
    }
}

/* The unmap, the import and the release of the host's block fail in turn. */
static void a_failed_unmap_leaves_nothing_behind(void)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        ferry_plugin_counters before, now;
        ferry_memory *m;

        wx_begin();
        before = wx_counters(0);
        m = wx_memory_at(0, OLD);
        wx_write_host(m, NEW);
        wx_fail_next(0, nth == 2 ? SIM_CALL_ANY : SIM_CALL_UNMAP, 1, FERRY_EDEVICE);
        ferry_memory_release(m);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        FX_OK(ferry_device_trim(wx_dev(0)));
        now = wx_counters(0);
        CU_ASSERT_EQUAL(now.live_imports, before.live_imports);
        CU_ASSERT_EQUAL(now.live_maps, before.live_maps);
        CU_ASSERT_EQUAL(now.live_host_blocks, before.live_host_blocks);
        wx_end();
    }
}

/* A blob of dev0, which shares the host's bytes, with `count` elements that the device wrote. */
static ferry_blob *written_by_device(int64_t count)
{
    const int64_t all[] = { WX_BYTES }, written[] = { count };
    ferry_ref ref = { NULL, 0 };
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_U8, all, 1, &b));
    FX_OK_FATAL(ferry_memory_access(ferry_blob_data_memory(b), NULL, FERRY_READ, NULL, &ref));
    FX_OK(ferry_blob_reshape(b, written, 1, NULL));
    wx_access(ferry_blob_data_memory(b), wx_queue(0), FERRY_WRITE);
    FX_OK(ferry_blob_fill_data(b, OLD));
    return b;
}

static void use(ferry_blob *b, int64_t count)
{
    FX_OK(ferry_blob_reshape(b, &count, 1, NULL));
}

/* Uses all elements: the first `count` have to be OLD, and the others 0. Destroys the blob. */
static void check_contents(ferry_blob *b, size_t count)
{
    unsigned char want[WX_BYTES] = { 0 };
    ferry_ref ref = { NULL, 0 };

    memset(want, OLD, count);
    use(b, WX_BYTES);
    FX_OK_FATAL(ferry_memory_access(ferry_blob_data_memory(b), NULL, FERRY_READ, NULL, &ref));
    CU_ASSERT_EQUAL(memcmp((char *)ref.handle + ref.offset, want, sizeof(want)), 0);
    ferry_blob_destroy(b);
}

static void read_by_host(ferry_blob *b)
{
    ferry_ref ref = { NULL, 0 };

    FX_OK_FATAL(ferry_memory_access(ferry_blob_data_memory(b), NULL, FERRY_READ, NULL, &ref));
}

/*
 * The device has contents beyond those that the host saw. They stay where the blob grows back, and
 * the host, whose map cannot be ended, has them as well; the bytes after them read as zeros.
 */
static void a_failed_unmap_keeps_contents_beyond_the_bytes_in_use(void)
{
    ferry_blob *b;

    wx_begin();
    b = written_by_device(WX_BYTES / 4 * 3);
    use(b, WX_BYTES / 2);
    read_by_host(b);
    wx_fail_next(0, SIM_CALL_UNMAP, 1, FERRY_EDEVICE);
    use(b, WX_BYTES);
    wx_fail_next(0, SIM_CALL_UNMAP, 0, 0);
    check_contents(b, WX_BYTES / 4 * 3);
    wx_end();
}

/* As before, with a copy of another device, which is shorter than the device's. */
static void a_failed_unmap_keeps_contents_that_another_device_lacks(void)
{
    ferry_blob *b;

    wx_begin();
    b = written_by_device(WX_BYTES);
    use(b, WX_BYTES / 4 * 3);
    wx_access(ferry_blob_data_memory(b), wx_queue(1), FERRY_READ);
    use(b, WX_BYTES / 8 * 3);
    read_by_host(b);
    wx_fail_next(0, SIM_CALL_UNMAP, 1, FERRY_EDEVICE);
    use(b, WX_BYTES / 8 * 5);
    wx_fail_next(0, SIM_CALL_UNMAP, 0, 0);
    check_contents(b, WX_BYTES);
    wx_end();
}

/* The host has contents beyond those that the device saw, and cannot get the bytes back. */
static void a_failed_map_keeps_contents_beyond_the_bytes_in_use(void)
{
    ferry_ref ref = { NULL, 0 };
    ferry_blob *b;

    wx_begin();
    b = written_by_device(WX_BYTES / 4 * 3);
    FX_OK_FATAL(ferry_memory_access(ferry_blob_data_memory(b), NULL, FERRY_WRITE, NULL, &ref));
    memset((char *)ref.handle + ref.offset, OLD, WX_BYTES / 4 * 3);
    use(b, WX_BYTES / 2);
    wx_access(ferry_blob_data_memory(b), wx_queue(0), FERRY_READ);
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    wx_fail_next(0, SIM_CALL_MAP, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, ferry_blob_fill_data(b, NEW));
    wx_fail_next(0, SIM_CALL_OP, 0, 0);
    wx_fail_next(0, SIM_CALL_MAP, 0, 0);
    check_contents(b, WX_BYTES / 4 * 3);
    wx_end();
}

/* ---- without map and unmap ------------------------------------------------------------------- */

/* Checks the host's view, when no work of the device on it is pending. */
static void check_host_access(ferry_memory *m, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    CU_ASSERT(wx_pending(0) > 0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, access | FERRY_NOWAIT, NULL, &ref));
    FX_OK_FATAL(ferry_memory_access(m, NULL, access, NULL, &ref));
    if (access & FERRY_WRITE)
        memset(ref.handle, NEW, WX_BYTES);
    wx_run_all();
    CU_ASSERT(fx_all_equal(ref.handle, access & FERRY_WRITE ? NEW : OLD));
}

static const unsigned host_accesses[] = { FERRY_READ, FERRY_READ | FERRY_WRITE, FERRY_WRITE };

static void the_host_waits_for_the_device_s_writes(void)
{
    for (int i = 0; i < 3; i++) {
        ferry_memory *m;

        wx_begin();
        m = wx_memory(0);
        wx_write_on(wx_queue(0), m, OLD);
        check_host_access(m, host_accesses[i]);
        ferry_memory_release(m);
        wx_end();
    }
}

static void the_host_waits_for_the_device_s_reads(void)
{
    for (int i = 1; i < 3; i++) {
        ferry_memory *m, *seen;

        wx_begin();
        m = wx_memory_at(0, OLD);
        seen = wx_memory(0);
        CU_ASSERT(wx_host_reads(m, OLD));
        wx_read_on(wx_queue(0), m, seen);
        check_host_access(m, host_accesses[i]);
        CU_ASSERT(wx_host_reads(seen, OLD));
        ferry_memory_release(m);
        ferry_memory_release(seen);
        wx_end();
    }
}

/* An earlier failed write of a kernel does not affect a call that overwrites everything. */
static void host_and_device_access_alternately_without_maps(void)
{
    ferry_memory *m;

    wx_begin();
    m = wx_memory(0);
    for (int round = 0; round < 20; round++) {
        wx_write_on(wx_queue(0), m, (unsigned char)round);
        wx_write_host(m, (unsigned char)(round + 1));
        CU_ASSERT(wx_reads_on(wx_queue(0), m, (unsigned char)(round + 1)));
    }
    CU_ASSERT_EQUAL(wx_since(0).copies_h2d, 0);
    ferry_memory_release(m);
    wx_end();
}

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(a_failed_unmap_leaves_nothing_behind),
    FERRY_TEST(a_failed_unmap_keeps_contents_beyond_the_bytes_in_use),
    FERRY_TEST(a_failed_unmap_keeps_contents_that_another_device_lacks),
    FERRY_TEST(a_failed_map_keeps_contents_beyond_the_bytes_in_use),
    FERRY_TEST(a_third_device_reads_from_the_shared_block),
};

static const ferry_test_case unmapped_cases[] = {
    FERRY_TEST(the_host_waits_for_the_device_s_writes),
    FERRY_TEST(the_host_waits_for_the_device_s_reads),
    FERRY_TEST(host_and_device_access_alternately_without_maps),
};

/* ---- failures of pending work ---------------------------------------------------------------- */

/* A copy whose home has the host's bytes is being scaled, and the scaling will fail. */
static ferry_blob *that_will_have_failed(void)
{
    ferry_blob *b = wx_blob(16);

    (void)ferry_device_synchronize(wx_dev(0)); /* reports the failure of the earlier work */
    FX_OK(ferry_blob_fill_data(b, 1));
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    wx_fail_later(0, SIM_CALL_OP, 1, FERRY_EDEVICE);
    FX_OK(ferry_blob_scale_data(b, 2));
    return b;
}

static void contents_overwritten_on_another_device_are_valid_after_a_failure(void)
{
    wx_begin();
    for (int written = 0; written < 2; written++) {
        ferry_blob *b = that_will_have_failed();
        ferry_memory *m = ferry_blob_data_memory(b);
        ferry_ref at = wx_access(m, wx_queue(1), FERRY_WRITE);
        float *p;

        FX_OK(ferry_math_fill(wx_queue(1), FERRY_F32, 16, 7, at));
        if (written) {
            p = ferry_blob_mutable_host_data(b);
            CU_ASSERT_PTR_NOT_NULL_FATAL(p);
            for (int i = 0; i < 16; i++)
                p[i] = (float)i;
        }
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
        CU_ASSERT(written ? wx_holds(b, 0, 16, 0) : wx_holds(b, 0, 1, 7));
        CU_ASSERT_EQUAL(wx_valid(m), written ? WX_HOST : WX_HOST | WX_DEV(1));
        ferry_blob_destroy(b);
    }
    wx_end();
}

static void contents_whose_last_copy_failed_are_lost_at_the_first_read(void)
{
    ferry_blob *b;

    wx_begin();
    b = that_will_have_failed();
    (void)wx_access(ferry_blob_data_memory(b), wx_queue(1), FERRY_READ | FERRY_WRITE);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_PTR_NULL(ferry_blob_host_data(b));
        CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ELOST);
    }
    ferry_blob_destroy(b);
    wx_end();
}

static const ferry_test_case late_cases[] = {
    FERRY_TEST(contents_overwritten_on_another_device_are_valid_after_a_failure),
    FERRY_TEST(contents_whose_last_copy_failed_are_lost_at_the_first_read),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const sync[] = { "clock", "sync", "unified", "on", NULL };
    static const char *const staged[] = { "clock", "sync", "unified", "on", "peer", "off", NULL };
    static const char *const unmapped[] = {
        "clock", "manual", "unified", "on", "map", "off", NULL
    };
    static const char *const late[] = { "op_latency", "1000", "unified", "on", "map", "off", NULL };
    static const struct wx_world worlds[] = {
        { "two that share", sync, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "two that share, without peer copies", staged, shared_cases,
          FERRY_TEST_COUNT(shared_cases) },
        { "without maps", unmapped, unmapped_cases, FERRY_TEST_COUNT(unmapped_cases) },
        { "without maps, real clock", late, unmapped_cases + 2, 1 },
        { "late failures", manual, late_cases, FERRY_TEST_COUNT(late_cases) },
        { "late failures, without maps", unmapped, late_cases, FERRY_TEST_COUNT(late_cases) },
    };

    return wx_main(argc, argv, "unified", worlds, FERRY_TEST_COUNT(worlds));
}
