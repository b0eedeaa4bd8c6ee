/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Memory that the program lends ferry on several devices: read-only blocks are never written,
 * whatever path a copy takes, and every deleter runs once.
 */

#define OLD 0x5a
#define NEW 0x77

static _Alignas(64) unsigned char own[WX_BYTES];

static int adopt_own(ferry_memory *m, unsigned flags, int *calls)
{
    ferry_ref ref = { own, 0 };

    return ferry_memory_adopt(m, NULL, ref, WX_BYTES, flags, fx_count_call, calls);
}

static ferry_device *cpu_device(void)
{
    ferry_device *cpu = NULL;

    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu))
        ferry_test_skip("no cpu plugin: %s", ferry_last_error());
    return cpu;
}

/* A copy to the other device changes the host's copy, in whatever storage. */
static void a_read_only_block_is_not_used_for_staging(void)
{
    int calls = 0;
    ferry_memory *m;

    wx_begin();
    m = wx_memory(0);
    memset(own, OLD, sizeof(own));
    FX_OK(adopt_own(m, FERRY_ADOPT_READONLY, &calls));
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, NEW));
    CU_ASSERT_EQUAL(own[0], OLD);
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT_EQUAL(calls, 1);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    wx_end();
}

/* If host and home are one pointer, read-only blocks of other places are still unchanged. */
static void a_read_only_block_beside_a_shared_one_is_not_written(void)
{
    int calls = 0;
    ferry_memory *m = NULL, *lender;
    ferry_device *cpu;
    ferry_ref ref;

    wx_begin();
    cpu = cpu_device();
    if (!cpu)
        return;
    lender = wx_memory_at(0, OLD);
    ref = wx_access(lender, wx_queue(0), FERRY_READ | FERRY_WRITE);
    FX_OK_FATAL(ferry_memory_create(cpu, WX_BYTES, &m));
    FX_OK(ferry_memory_adopt(m, wx_dev(0), ref, WX_BYTES, FERRY_ADOPT_READONLY, fx_count_call,
                             &calls));
    wx_write_host(m, NEW);
    CU_ASSERT(wx_reads_on(wx_queue(0), m, NEW));
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT(wx_host_reads(lender, OLD));
    ferry_memory_release(m);
    memset(own, OLD, sizeof(own));
    m = wx_memory(0);
    FX_OK(adopt_own(m, FERRY_ADOPT_READONLY, &calls));
    FX_OK(ferry_memory_access(m, cpu, FERRY_READ, NULL, &ref));
    wx_write_on(wx_queue(0), m, NEW);
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT_EQUAL(own[0], OLD);
    CU_ASSERT_EQUAL(calls, 2);
    ferry_memory_release(m);
    ferry_memory_release(lender);
    wx_end();
}

/* ---- every way of a read-only block ---------------------------------------------------------- */

#define PLACES 3 /* the host, the cpu, dev0 */
#define OPS    (3 * PLACES + 2 + 2)
#define LENGTH 4

struct walk {
    ferry_memory *m;
    ferry_blob *blob;
    ferry_device *at[PLACES];
    unsigned char value;
    unsigned
        lent; /* the lent copy, if it is valid; it must not be written; PLACES: no such copy */
};

static bool write_there(struct walk *w, unsigned place, ferry_ref ref)
{
    w->value++;
    w->lent = PLACES;
    if (place == 0)
        memset((char *)ref.handle + ref.offset, w->value, WX_BYTES);
    return place == 0 ||
           !ferry_math_fill(ferry_device_queue(w->at[place]), FERRY_U8, WX_BYTES, w->value, ref);
}

static bool reads(struct walk *w, unsigned place, ferry_ref ref)
{
    ferry_memory *seen = NULL;
    ferry_ref to;
    bool same;

    if (place == 0)
        return fx_all_equal((unsigned char *)ref.handle + ref.offset, w->value);
    FX_OK_FATAL(ferry_memory_create(w->at[place], WX_BYTES, &seen));
    to = ferry_memory_overwrite_device_data(seen);
    same = !ferry_math_copy(ferry_device_queue(w->at[place]), FERRY_U8, WX_BYTES,
                            ferry_ref_const(ref), to) &&
           fx_all_equal(ferry_memory_host_data(seen), w->value);
    ferry_memory_release(seen);
    return same;
}

/* One access; a write is refused if the lent bytes would be written, and only then. */
static bool touch(struct walk *w, unsigned place, unsigned access)
{
    bool refuse = (access & FERRY_WRITE) && place == w->lent;
    ferry_ref ref = { NULL, 0 };
    int err = ferry_memory_access(w->m, w->at[place], access, NULL, &ref);

    if (err || refuse)
        return refuse && err == FERRY_EPERM;
    if ((access & FERRY_READ) && !reads(w, place, ref))
        return false;
    return !(access & FERRY_WRITE) || write_there(w, place, ref);
}

static bool step(struct walk *w, unsigned op)
{
    static const unsigned accesses[] = { FERRY_READ, FERRY_READ | FERRY_WRITE, FERRY_WRITE };

    if (op < 3 * PLACES)
        return touch(w, op / 3, accesses[op % 3]);
    if (op > 3 * PLACES + 1)
        return !ferry_blob_move_to(w->blob, w->at[op - 3 * PLACES - 1]);
    memset(own, OLD, sizeof(own));
    w->lent = op - 3 * PLACES;
    w->value = OLD;
    return !ferry_memory_adopt(w->m, w->at[w->lent], (ferry_ref){ own, 0 }, WX_BYTES,
                               FERRY_ADOPT_READONLY, NULL, NULL);
}

static bool walk(ferry_device *cpu, const unsigned *ops)
{
    const int64_t shape[] = { WX_BYTES };
    struct walk w = { .at = { NULL, cpu, wx_dev(0) }, .lent = PLACES };
    bool ok = true;

    memset(own, OLD, sizeof(own));
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_U8, shape, 1, &w.blob));
    FX_OK(ferry_blob_fill_data(w.blob, 0));
    w.m = ferry_blob_data_memory(w.blob);
    for (unsigned i = 0; ok && i < LENGTH; i++)
        ok = step(&w, ops[i]);
    for (unsigned place = 0; ok && place < PLACES; place++)
        ok = touch(&w, place, FERRY_READ);
    ok = ok && fx_all_equal(own, OLD);
    ferry_blob_destroy(w.blob);
    if (!ok)
        printf("     operations %u %u %u %u: %s\n", ops[0], ops[1], ops[2], ops[3],
               ferry_last_error());
    return ok;
}

static void a_read_only_block_is_kept_or_released_by_one_rule(void)
{
    unsigned ops[LENGTH] = { 0 }, bad = 0;
    bool few = getenv("FERRY_TEST_VALGRIND") || getenv("FERRY_TEST_QUICK");
    unsigned stride = few ? 11 : 1; /* coprime to OPS */
    ferry_device *cpu;

    wx_begin();
    cpu = cpu_device();
    if (!cpu)
        return;
    for (unsigned n = 0; n < OPS * OPS * OPS * OPS && bad < 10; n += stride) {
        ops[0] = n % OPS;
        ops[1] = n / OPS % OPS;
        ops[2] = n / OPS / OPS % OPS;
        ops[3] = n / OPS / OPS / OPS;
        bad += !walk(cpu, ops);
    }
    CU_ASSERT_EQUAL(bad, 0);
    wx_end();
}

#define MANY 8

static void every_device_may_have_a_deleter(void)
{
    ferry_device *dev = NULL;
    ferry_memory *m, *lender[MANY] = { NULL };
    char name[16];
    int calls = 0;

    wx_begin();
    m = wx_memory(0);
    FX_OK(adopt_own(m, 0, &calls));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "sim:%d", i);
        FX_OK_FATAL(ferry_runtime_get_device(wx_runtime(), name, &dev));
        FX_OK_FATAL(ferry_memory_create(dev, WX_BYTES, &lender[i]));
        FX_OK(ferry_memory_adopt(m, dev, ferry_memory_overwrite_device_data(lender[i]), WX_BYTES, 0,
                                 fx_count_call, &calls));
    }
    CU_ASSERT_EQUAL(calls, 0);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, MANY + 1);
    for (int i = 0; i < MANY; i++)
        ferry_memory_release(lender[i]);
    wx_end();
}

/* ---- eviction ------------------------------------------------------------------------------- */

static ferry_memory *wanted;

/* ferry may be called, including for the memory that requested the space: no lock is held. */
static void count_and_call(void *arg)
{
    ++*(int *)arg;
    if (wanted)
        FX_OK(ferry_memory_allow_eviction(wanted));
}

/* A memory that dev0 has written since, so that an eviction must write its bytes elsewhere. */
static ferry_memory *stale_on_host(int *calls)
{
    ferry_memory *m = wx_memory(0);

    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ own, 0 }, WX_BYTES, FERRY_ADOPT_READONLY,
                             count_and_call, calls));
    wx_write_on(wx_queue(0), m, NEW);
    FX_OK(ferry_memory_allow_eviction(m));
    return m;
}

static void an_eviction_runs_the_deleter_of_the_replaced_block(void)
{
    int calls = 0;
    ferry_memory *m;

    wx_begin();
    memset(own, OLD, sizeof(own));
    wanted = NULL;
    m = stale_on_host(&calls);
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    CU_ASSERT(wx_host_reads(m, NEW));
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    ferry_memory_release(m);
    m = stale_on_host(&calls);
    wanted = wx_memory(0);
    FX_OK(ferry_device_set_budget(wx_dev(0), WX_BYTES));
    wx_access(wanted, wx_queue(0), FERRY_WRITE);
    CU_ASSERT_EQUAL(calls, 2);
    CU_ASSERT(wx_host_reads(m, NEW));
    CU_ASSERT_EQUAL(own[0], OLD);
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    ferry_memory_release(m);
    ferry_memory_release(wanted);
    CU_ASSERT_EQUAL(calls, 2);
    wx_end();
}

/* dev0 shares the host's bytes; a copy into them from dev1 fails. */
static void an_import_is_released_after_a_failed_copy_into_it(void)
{
    uint64_t imports;
    ferry_memory *m;
    int calls = 0;

    wx_begin();
    imports = wx_counters(0).live_imports;
    m = wx_memory_at_host(OLD);
    wx_access(m, wx_queue(1), FERRY_READ | FERRY_WRITE);
    wx_fail_later(1, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, NULL, NULL));
    CU_ASSERT_EQUAL(wx_counters(0).live_imports, imports + 1);
    FX_OK(adopt_own(m, 0, &calls));
    CU_ASSERT_EQUAL(wx_counters(0).live_imports, imports);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    wx_end();
}

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(an_import_is_released_after_a_failed_copy_into_it),
};

static const ferry_test_case sync_cases[] = {
    FERRY_TEST(a_read_only_block_is_kept_or_released_by_one_rule),
};

static const ferry_test_case cases[] = {
    FERRY_TEST(a_read_only_block_is_not_used_for_staging),
    FERRY_TEST(a_read_only_block_beside_a_shared_one_is_not_written),
    FERRY_TEST(an_eviction_runs_the_deleter_of_the_replaced_block),
};

static const ferry_test_case many_cases[] = {
    FERRY_TEST(every_device_may_have_a_deleter),
};

int main(int argc, char **argv)
{
    static const char *const no_peer[] = { "clock", "manual", "peer", "off", NULL };
    static const char *const real[] = { "latency", "500", "op_latency", "300", NULL };
    static const char *const shared[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const sync[] = { "clock", "sync", NULL };
    static const char *const sync_shared[] = { "clock", "sync", "unified", "on", NULL };
    static const char *const many[] = { "devices", "8", NULL };
    static const struct wx_world worlds[] = {
        { "without peer copies", no_peer, cases, FERRY_TEST_COUNT(cases) },
        { "real clock", real, cases + 1, FERRY_TEST_COUNT(cases) - 1 },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "sync clock", sync, sync_cases, FERRY_TEST_COUNT(sync_cases) },
        { "sync clock, shared memory", sync_shared, sync_cases, FERRY_TEST_COUNT(sync_cases) },
        { "eight devices", many, many_cases, FERRY_TEST_COUNT(many_cases) },
    };

    return wx_main(argc, argv, "multi-adopt", worlds, FERRY_TEST_COUNT(worlds));
}
