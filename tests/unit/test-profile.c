/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include "core/device/device.h"

#include <ferry/profile_plugin.h>

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Profiled queues and spans through ferry, on sim's clocks: sim's model gives the least time that
 * work takes.
 */

#define COPY_NS 2000000 /* the time of each copy with the option latency */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static ferry_span *span_of_one_copy(ferry_queue *q, ferry_ref to, const void *from)
{
    ferry_span *span = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_span_begin(q, &span), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_queue_write(q, to, from, 64), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_span_end(span), 0);
    return span;
}

static ferry_span_times times_of(ferry_span *span)
{
    ferry_span_times times = { .struct_size = sizeof times };

    CU_ASSERT_EQUAL_FATAL(ferry_span_read(span, &times), 1);
    return times;
}

static void a_span_has_the_time_of_its_work(void)
{
    static const char bytes[64];
    ferry_memory *m = NULL;
    ferry_span *first, *second, *none = NULL;
    ferry_span_times a, b;
    uint64_t before, after;
    ferry_queue *q;
    ferry_ref to;

    wx_begin();
    q = wx_queue(0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), 64, &m), 0);
    to = ferry_memory_overwrite_device_data(m);
    CU_ASSERT_EQUAL_FATAL(ferry_queue_profile(q, true), 0);
    before = now_ns();
    first = span_of_one_copy(q, to, bytes);
    second = span_of_one_copy(q, to, bytes);
    CU_ASSERT_EQUAL(ferry_span_begin(q, &none), 0);
    CU_ASSERT_EQUAL(ferry_span_end(none), 0);
    wx_run_all();
    CU_ASSERT_EQUAL(ferry_queue_synchronize(q), 0);
    after = now_ns();
    a = times_of(first);
    b = times_of(second);
    CU_ASSERT(!a.empty && a.duration_ns >= COPY_NS && a.end_ns - a.begin_ns == a.duration_ns);
    CU_ASSERT(a.begin_ns >= before && a.end_ns <= b.begin_ns);
    CU_ASSERT(b.end_ns <= after + 2 * COPY_NS); /* a manual clock runs ahead of the host's */
    CU_ASSERT(times_of(none).empty && times_of(none).duration_ns == 0);
    ferry_span_destroy(first);
    ferry_span_destroy(second);
    ferry_span_destroy(none);
    ferry_span_destroy(NULL);
    CU_ASSERT_EQUAL(ferry_span_begin(q, &none), 0);
    ferry_span_destroy(none); /* ended first: the queue keeps no section */
    CU_ASSERT_EQUAL(ferry_queue_profile(q, false), 0);
    ferry_memory_release(m);
    wx_end();
}

static void profiling_nests_and_refuses_invalid_calls(void)
{
    ferry_span *span = NULL;
    ferry_queue *q;

    wx_begin();
    q = wx_queue(0);
    FX_FAILED(FERRY_EINVAL, ferry_queue_profile(NULL, true) < 0);
    FX_FAILED(FERRY_EINVAL, ferry_queue_profile(q, false) < 0);
    FX_FAILED(FERRY_EINVAL, ferry_span_begin(q, &span) < 0);
    CU_ASSERT_PTR_NULL(span);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, true), 0);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, true), 0);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, false), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_span_begin(q, &span), 0);
    FX_FAILED(
        FERRY_EINVAL,
        ferry_span_read(span, &(ferry_span_times){ .struct_size = sizeof(ferry_span_times) }) < 0);
    CU_ASSERT_EQUAL(ferry_span_end(span), 0);
    FX_FAILED(FERRY_EINVAL, ferry_span_end(span) < 0);
    FX_FAILED(FERRY_EINVAL, ferry_span_read(span, &(ferry_span_times){ .struct_size = 0 }) < 0);
    ferry_span_destroy(span);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, false), 0);
    FX_FAILED(FERRY_EINVAL, ferry_queue_profile(q, false) < 0);
    wx_end();
}

static void a_span_of_failed_work_has_no_times(void)
{
    static const char bytes[64];
    ferry_span_times times = { .struct_size = sizeof times };
    ferry_memory *m = NULL;
    ferry_span *span;
    ferry_queue *q;
    ferry_ref to;

    wx_begin();
    q = wx_queue(0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), 64, &m), 0);
    to = ferry_memory_overwrite_device_data(m);
    CU_ASSERT_EQUAL_FATAL(ferry_queue_profile(q, true), 0);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    span = span_of_one_copy(q, to, bytes);
    wx_run_all();
    FX_FAILED(FERRY_EDEVICE, ferry_queue_synchronize(q) < 0);
    FX_FAILED(FERRY_EDEVICE, ferry_span_read(span, &times) < 0);
    ferry_span_destroy(span);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, false), 0);
    ferry_memory_release(m);
    wx_end();
}

static void a_device_without_profiling_reports_an_error(void)
{
    wx_begin();
    FX_FAILED(FERRY_EUNSUPPORTED, ferry_queue_profile(wx_queue(0), true) < 0);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(),
                           "sim:0: plugin sim does not measure time on the device's clock: it has "
                           "no table \"ferry.profile/1\"");
    wx_end();
}

/* ---- two clocks that drift ---- */

#define SECTIONS 5

static struct {
    uint64_t epoch; /* long ago, so that each read compares the clocks again */
    uint64_t moments;
    ferry_profile_times sections[SECTIONS + 1]; /* the last one contains the others */
} drift;

static int drifting_clock(void *dev, ferry_profile_clock *out)
{
    static const int64_t errors[] = { 0, -400, 300, -500, 700, -200, 600, 0 };
    const uint64_t ticks = 1000 * ++drift.moments;

    (void)dev;
    out->frequency = 1000000000;
    out->resolution = 1;
    out->ticks = ticks;
    out->host_ns = drift.epoch + ticks + (uint64_t)errors[drift.moments % 8];
    return 0;
}

static int change_queue(void *dev, void *queue)
{
    (void)dev;
    (void)queue;
    return 0;
}

static int begin_section(void *dev, void *queue, void **out_section)
{
    static unsigned n;

    (void)dev;
    (void)queue;
    *out_section = &drift.sections[n++ % (SECTIONS + 1)];
    return 0;
}

static int end_section(void *dev, void *queue, void *section)
{
    (void)dev;
    (void)queue;
    (void)section;
    return 0;
}

static int read_section(void *dev, void *section, ferry_profile_times *out)
{
    const ferry_profile_times *times = section;

    (void)dev;
    out->begin = times->begin;
    out->end = times->end;
    return 1;
}

static void destroy_section(void *dev, void *section)
{
    (void)dev;
    (void)section;
}

static int drifting_extension(void *dev, const char *name, const void **out_table)
{
    static const ferry_profile_table table = {
        .struct_size = sizeof table,
        .clock = drifting_clock,
        .start = change_queue,
        .stop = change_queue,
        .begin = begin_section,
        .end = end_section,
        .read = read_section,
        .destroy = destroy_section,
    };

    (void)dev;
    (void)name;
    *out_table = &table;
    return 0;
}

static ferry_span_times measured(ferry_queue *q)
{
    ferry_span *span = NULL;
    ferry_span_times times;

    CU_ASSERT_EQUAL_FATAL(ferry_span_begin(q, &span), 0);
    CU_ASSERT_EQUAL(ferry_span_end(span), 0);
    times = times_of(span);
    ferry_span_destroy(span);
    return times;
}

static void spans_keep_their_order_when_the_clocks_drift(void)
{
    ferry_span_times times[SECTIONS], outer;
    const ferry_plugin_ops *was;
    ferry_plugin_ops ops;
    ferry_device *dev;
    ferry_queue *q;

    wx_begin();
    q = wx_queue(0);
    dev = wx_dev(0);
    was = dev->ops;
    ops = *was;
    ops.extension = drifting_extension;
    dev->ops = &ops;
    drift.epoch = now_ns() - UINT64_C(3600000000000);
    for (uint64_t i = 0; i < SECTIONS; i++)
        drift.sections[i] =
            (ferry_profile_times){ .begin = 1000 * i + 1010, .end = 1000 * i + 1990 };
    drift.sections[SECTIONS] = (ferry_profile_times){ .begin = 1010, .end = 5990 };
    CU_ASSERT_EQUAL_FATAL(ferry_queue_profile(q, true), 0);
    for (int i = 0; i < SECTIONS; i++) {
        times[i] = measured(q);
        CU_ASSERT_EQUAL(times[i].duration_ns, 980);
        CU_ASSERT(times[i].begin_ns <= times[i].end_ns);
        CU_ASSERT(!i || times[i - 1].end_ns <= times[i].begin_ns);
    }
    outer = measured(q);
    CU_ASSERT_EQUAL(outer.begin_ns, times[0].begin_ns);
    CU_ASSERT_EQUAL(outer.end_ns, times[SECTIONS - 1].end_ns);
    CU_ASSERT_EQUAL(ferry_queue_profile(q, false), 0);
    dev->ops = was;
    wx_end();
}

static const ferry_test_case drifting[] = { FERRY_TEST(
    spans_keep_their_order_when_the_clocks_drift) };

static const ferry_test_case cases[] = {
    FERRY_TEST(a_span_has_the_time_of_its_work),
    FERRY_TEST(profiling_nests_and_refuses_invalid_calls),
    FERRY_TEST(a_span_of_failed_work_has_no_times),
};

static const ferry_test_case without[] = {
    FERRY_TEST(a_device_without_profiling_reports_an_error)
};

int main(int argc, char **argv)
{
    static const char *const real[] = { "latency", "2000", NULL };
    static const char *const manual[] = { "clock", "manual", "latency", "2000", NULL };
    static const char *const minimal[] = { "ops", "minimal", NULL };
    static const struct wx_world worlds[] = {
        { "real", real, cases, FERRY_TEST_COUNT(cases) },
        { "manual", manual, cases, FERRY_TEST_COUNT(cases) },
        { "minimal", minimal, without, FERRY_TEST_COUNT(without) },
        { "drift", real, drifting, FERRY_TEST_COUNT(drifting) },
    };

    return wx_main(argc, argv, "profile", worlds, FERRY_TEST_COUNT(worlds));
}
