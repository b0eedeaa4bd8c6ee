/* SPDX-License-Identifier: BSD-2-Clause */
#include "fakes.h"
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The pool, budgets and eviction, as visible through the public functions, on sim alone. */

#define BYTES (64u << 10)

static ferry_runtime *rt;

/* sim:0, without a budget and with an empty cache, in a runtime of its own. */
static ferry_device *open_sim(void)
{
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_device *dev = NULL;

    FX_OK_FATAL(ferry_runtime_open(&options, &rt));
    FX_OK_FATAL(ferry_runtime_get_device(rt, NULL, &dev));
    FX_OK_FATAL(ferry_device_set_budget(dev, 0));
    FX_OK_FATAL(ferry_device_trim(dev));
    return dev;
}

static ferry_device_stats stats(ferry_device *dev)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    FX_OK(ferry_device_get_stats(dev, &s));
    return s;
}

/* A memory whose only valid copy is the device's, all bytes `value`. */
static ferry_memory *dirty(ferry_device *dev, unsigned char value)
{
    ferry_memory *m = NULL;
    void *p;

    FX_OK_FATAL(ferry_memory_create(dev, BYTES, &m));
    p = ferry_memory_overwrite_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    memset(p, value, BYTES);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    return m;
}

static void check_contents(ferry_memory *m, unsigned char value)
{
    const unsigned char *p = ferry_memory_host_data(m);
    size_t i, wrong = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (i = 0; i < BYTES; i++)
        wrong += p[i] != value;
    CU_ASSERT_EQUAL(wrong, 0);
}

static void a_freed_block_is_reused(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *m = dirty(dev, 1);
    uint64_t hits = stats(dev).pool_hits;

    ferry_memory_release(m);
    m = dirty(dev, 2);
    CU_ASSERT(stats(dev).pool_hits > hits);
    check_contents(m, 2);
    ferry_memory_release(m);
    FX_OK(ferry_device_trim(dev));
    hits = stats(dev).pool_hits;
    m = dirty(dev, 3);
    CU_ASSERT_EQUAL(stats(dev).pool_hits, hits);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(stats(dev).live_bytes, 0);
    ferry_runtime_close(rt);
}

/* A memory of that many bytes; *hit: its block is one that was released before. */
static ferry_memory *of_bytes(ferry_device *dev, uint64_t bytes, bool *hit)
{
    uint64_t hits = stats(dev).pool_hits;
    ferry_memory *m = NULL;

    FX_OK_FATAL(ferry_memory_create(dev, bytes, &m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_device_data(m).handle);
    *hit = stats(dev).pool_hits > hits;
    return m;
}

/* The classes are a quarter of a power of two apart, from 8 MiB on an eighth. */
static void a_freed_block_serves_all_sizes_of_its_class(void)
{
    static const struct {
        uint64_t least, most;
    } classes[] = { { 513, 640 },
                    { (5u << 20) + 1, 6u << 20 },
                    { (7u << 20) + 1, 8u << 20 },
                    { (8u << 20) + 1, 9u << 20 },
                    { (15u << 20) + 1, 16u << 20 },
                    { (16u << 20) + 1, 18u << 20 } };
    ferry_device *dev = open_sim();
    bool hit;

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        ferry_memory_release(of_bytes(dev, classes[i].least, &hit));
        ferry_memory_release(of_bytes(dev, classes[i].most, &hit));
        CU_ASSERT(hit);
        ferry_memory_release(of_bytes(dev, classes[i].most + 1, &hit));
        CU_ASSERT_FALSE(hit);
        FX_OK(ferry_device_trim(dev));
    }
    ferry_runtime_close(rt);
}

static void a_budget_is_never_exceeded_and_its_error_names_the_bytes_held(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *a = dirty(dev, 1), *b = NULL;
    char held[32];

    FX_OK(ferry_device_set_budget(dev, BYTES + BYTES / 2));
    FX_OK_FATAL(ferry_memory_create(dev, BYTES, &b));
    FX_FAILED(FERRY_ENOMEM, !ferry_memory_mutable_device_data(b).handle);
    snprintf(held, sizeof held, "%u", BYTES);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), held));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "sim:0"));
    CU_ASSERT_EQUAL(ferry_memory_head(b), FERRY_HEAD_UNINITIALIZED);
    CU_ASSERT_EQUAL(ferry_memory_head(a), FERRY_HEAD_AT_DEVICE);
    FX_OK(ferry_device_set_budget(dev, 0));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(b).handle);
    ferry_memory_release(a);
    ferry_memory_release(b);
    ferry_runtime_close(rt);
}

/* Allocates a block and releases it, repeatedly; some of the allocations fail. */
static void *take_blocks(void *dev)
{
    for (int i = 0; i < (ferry_test_is_slow() ? 1000 : 40000); i++) {
        ferry_memory *m = NULL;

        if (ferry_memory_create(dev, BYTES, &m))
            return NULL;
        ferry_memory_overwrite_device_data(m);
        ferry_memory_release(m);
    }
    return dev;
}

static void a_budget_holds_across_threads(void)
{
    ferry_device *dev = open_sim();
    pthread_t thread[4];
    void *result = NULL;

    CU_ASSERT_EQUAL(stats(dev).peak_bytes, 0);
    FX_OK(ferry_device_set_budget(dev, 3 * BYTES));
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, take_blocks, dev), 0);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(pthread_join(thread[i], &result), 0);
        CU_ASSERT_PTR_NOT_NULL(result);
    }
    CU_ASSERT(stats(dev).peak_bytes <= 3 * BYTES);
    CU_ASSERT_EQUAL(stats(dev).live_bytes, 0);
    FX_OK(ferry_device_set_budget(dev, 0));
    ferry_runtime_close(rt);
}

static void only_idle_memories_are_evicted(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *used = dirty(dev, 1), *idle = dirty(dev, 2), *wanted;
    uint64_t evictions = stats(dev).evictions;

    FX_OK(ferry_memory_allow_eviction(idle));
    FX_OK(ferry_device_set_budget(dev, 2 * BYTES));
    wanted = dirty(dev, 3);
    CU_ASSERT_EQUAL(stats(dev).evictions, evictions + 1);
    CU_ASSERT_EQUAL(ferry_memory_head(used), FERRY_HEAD_AT_DEVICE);
    CU_ASSERT_EQUAL(ferry_memory_head(idle), FERRY_HEAD_AT_HOST); /* written back */
    CU_ASSERT_EQUAL(ferry_memory_head(wanted), FERRY_HEAD_AT_DEVICE);
    check_contents(idle, 2);
    check_contents(used, 1);
    check_contents(wanted, 3);
    ferry_memory_release(used);
    ferry_memory_release(idle);
    ferry_memory_release(wanted);
    FX_OK(ferry_device_set_budget(dev, 0));
    ferry_runtime_close(rt);
}

static void clean_copies_are_evicted_before_dirty_ones(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *bad = dirty(dev, 1), *clean = dirty(dev, 2), *wanted;
    uint64_t written;

    check_contents(clean, 2); /* now the host has it too */
    FX_OK(ferry_memory_allow_eviction(bad));
    FX_OK(ferry_memory_allow_eviction(clean));
    FX_OK(ferry_device_set_budget(dev, 2 * BYTES));
    written = stats(dev).copies_d2h;
    wanted = dirty(dev, 3);
    CU_ASSERT_EQUAL(stats(dev).copies_d2h, written);
    CU_ASSERT_EQUAL(ferry_memory_head(bad), FERRY_HEAD_AT_DEVICE);
    CU_ASSERT_EQUAL(ferry_memory_head(clean), FERRY_HEAD_AT_HOST);
    ferry_memory_release(bad);
    ferry_memory_release(clean);
    ferry_memory_release(wanted);
    FX_OK(ferry_device_set_budget(dev, 0));
    ferry_runtime_close(rt);
}

static void an_access_ends_the_permission_to_evict(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *m = dirty(dev, 1), *b = NULL;

    FX_OK(ferry_memory_allow_eviction(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    FX_OK(ferry_device_set_budget(dev, BYTES));
    FX_OK_FATAL(ferry_memory_create(dev, BYTES, &b));
    FX_FAILED(FERRY_ENOMEM, !ferry_memory_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_AT_DEVICE);
    ferry_memory_release(m);
    ferry_memory_release(b);
    FX_OK(ferry_device_set_budget(dev, 0));
    ferry_runtime_close(rt);
}

static void a_smaller_budget_evicts_at_once(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *m[4];
    unsigned i;

    for (i = 0; i < 4; i++) {
        m[i] = dirty(dev, (unsigned char)i);
        FX_OK(ferry_memory_allow_eviction(m[i]));
    }
    FX_OK(ferry_device_set_budget(dev, 2 * BYTES));
    CU_ASSERT_EQUAL(ferry_memory_head(m[0]), FERRY_HEAD_AT_HOST); /* the oldest promises */
    CU_ASSERT_EQUAL(ferry_memory_head(m[1]), FERRY_HEAD_AT_HOST);
    CU_ASSERT_EQUAL(ferry_memory_head(m[2]), FERRY_HEAD_AT_DEVICE);
    CU_ASSERT_EQUAL(ferry_memory_head(m[3]), FERRY_HEAD_AT_DEVICE);
    for (i = 0; i < 4; i++) {
        check_contents(m[i], (unsigned char)i);
        ferry_memory_release(m[i]);
    }
    FX_OK(ferry_device_set_budget(dev, 0));
    ferry_runtime_close(rt);
}

/* A blob of sim:0 between two other blocks; its home is changed that many times. */
static ferry_blob *moved(ferry_device *dev, ferry_device *other, int times)
{
    const int64_t count = BYTES / sizeof(float);
    ferry_blob *b = NULL;
    float *p;

    FX_OK_FATAL(ferry_blob_create(dev, FERRY_F32, &count, 1, &b));
    p = ferry_blob_mutable_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    p[count - 1] = 7;
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    for (int i = 1; i <= times; i++)
        FX_OK(ferry_blob_move_to(b, i % 2 ? other : dev));
    return b;
}

static void a_device_stays_open_while_it_has_blocks_and_no_longer(void)
{
    for (int times = 0; times < 4; times++) {
        ferry_device *dev = open_sim(), *other = NULL;
        ferry_blob *b;

        if (ferry_runtime_get_device(rt, "cpu", &other)) {
            ferry_test_skip("no cpu: %s", ferry_last_error());
            ferry_runtime_close(rt);
            return;
        }
        CU_ASSERT_EQUAL(stats(dev).allocs, 0); /* nothing has kept it open since then */
        b = moved(dev, other, times);
        ferry_runtime_close(rt);
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[BYTES / sizeof(float) - 1], 7);
        CU_ASSERT_EQUAL(ferry_memory_is_valid_at(ferry_blob_data_memory(b), dev), 1);
        CU_ASSERT_EQUAL(stats(dev).live_bytes, 2 * BYTES);
        ferry_blob_destroy(b);
    }
}

#define MIB (UINT64_C(1) << 20)

/*
 * How many MiB of blocks that were released together can be allocated again, on an otherwise idle
 * device.
 */
static uint64_t kept(const char *fake)
{
    enum { BLOCKS = 7 };
    const uint64_t block = 256 * MIB;
    const char *folder = fakes_folder();
    ferry_memory *m[BLOCKS] = { NULL };
    ferry_device *dev = NULL;
    uint64_t hits;

    fakes_put(folder, fake, NULL);
    rt = fakes_open(folder, fake, NULL);
    FX_OK_FATAL(ferry_runtime_get_device(rt, NULL, &dev));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            FX_OK_FATAL(ferry_memory_create(dev, block, &m[i]));
            CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_device_data(m[i]).handle);
        }
        for (int i = 0; i < BLOCKS; i++)
            ferry_memory_release(m[i]);
    }
    hits = stats(dev).pool_hits;
    ferry_runtime_close(rt);
    return hits * block / MIB;
}

/*
 * The pool's limit depends on the use: a GiB is much for most programs and little where models use
 * tens of GiB.
 */
static void the_pool_of_a_large_device_keeps_a_sixteenth_of_its_memory(void)
{
    CU_ASSERT_EQUAL(kept("with_24"), 1536);
    if (ferry_test_is_slow())
        return;
    CU_ASSERT_EQUAL(kept("with_8"), 1024);
    CU_ASSERT_EQUAL(kept("with_2"), 512);
}

/* The function whose name could be read as freeing memory still exists, and only reports. */
static void free_memory_is_reported_under_both_names(void)
{
    ferry_device *dev = open_sim();
    ferry_memory *m = dirty(dev, 1);
    uint64_t available = 7, before = 7, live = stats(dev).live_bytes;

    FX_OK(ferry_device_memory_available(dev, &before));
    FX_OK(ferry_device_memory_available(dev, &available));
    CU_ASSERT_EQUAL(available, before);
    CU_ASSERT_EQUAL(stats(dev).live_bytes, live);
    ferry_memory_release(m);
    FX_OK(ferry_device_trim(dev));
    FX_OK(ferry_device_memory_available(dev, &available));
    CU_ASSERT_EQUAL(available, before + BYTES);
    CU_ASSERT_EQUAL(ferry_device_memory_available(dev, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_device_memory_available(NULL, &available), FERRY_EINVAL);
    CU_ASSERT_EQUAL(available, before + BYTES);
    ferry_runtime_close(rt);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(a_freed_block_is_reused),
        FERRY_TEST(a_freed_block_serves_all_sizes_of_its_class),
        FERRY_TEST(a_budget_is_never_exceeded_and_its_error_names_the_bytes_held),
        FERRY_TEST(a_budget_holds_across_threads),
        FERRY_TEST(only_idle_memories_are_evicted),
        FERRY_TEST(clean_copies_are_evicted_before_dirty_ones),
        FERRY_TEST(an_access_ends_the_permission_to_evict),
        FERRY_TEST(a_smaller_budget_evicts_at_once),
        FERRY_TEST(a_device_stays_open_while_it_has_blocks_and_no_longer),
        FERRY_TEST(free_memory_is_reported_under_both_names),
        /* the last case, because it opens another runtime, of fake plugins */
        FERRY_TEST(the_pool_of_a_large_device_keeps_a_sixteenth_of_its_memory),
    };

    return ferry_test_main(argc, argv, "pool", cases, FERRY_TEST_COUNT(cases));
}
