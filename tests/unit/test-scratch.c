/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Temporary memory that a plugin function allocates for its work (host->scratch), with a plugin
 * whose axpy needs it.
 */

#define N 1000

static ferry_runtime *rt;
static ferry_device *dev;
static ferry_memory *x, *y;
static char told[512]; /* a file of the plugin's */

static ferry_memory *memory_of(float value)
{
    ferry_memory *m = NULL;
    float *p;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, N * sizeof(float), &m), 0);
    p = ferry_memory_overwrite_host_data(m);
    for (int i = 0; i < N; i++)
        p[i] = value;
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_memory_mutable_device_data(m).handle);
    return m;
}

static void begin(void)
{
    char conf[1024];

    snprintf(conf, sizeof(conf),
             "[plugin good_scratch]\nlibrary = %s/tests/plugins/bad/ferry_good_scratch.so\n",
             getenv("FERRY_TEST_BUILDDIR"));
    snprintf(told, sizeof(told), "%s", fakes_path(fakes_folder(), "told"));
    setenv("GOOD_SCRATCH", told, 1);
    rt = fakes_open(fakes_folder(), "good_scratch", fakes_write(fakes_folder(), "c.conf", conf));
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, NULL, &dev), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_device_queue(dev));
    x = memory_of(1);
    y = memory_of(0);
}

static void end(void)
{
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_runtime_close(rt);
}

static ferry_device_stats stats(void)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    CU_ASSERT_EQUAL(ferry_device_get_stats(dev, &s), 0);
    return s;
}

/* Computes y += alpha·x, for `n` elements. */
static int add(ferry_queue *q, int64_t n, double alpha)
{
    return ferry_math_axpy(q, FERRY_F32, n, alpha, ferry_memory_device_data(x),
                           ferry_memory_mutable_device_data(y));
}

/* The nth line that the plugin wrote: the code, and the block. */
static int line(int nth, char *block, size_t size)
{
    FILE *file = fopen(told, "r");
    char text[64] = "";
    int code = 1;

    for (int i = 0; file && i <= nth; i++)
        if (!fgets(text, sizeof(text), file))
            text[0] = '\0';
    if (file)
        fclose(file);
    snprintf(block, size, "%s", text[0] && sscanf(text, "%d", &code) == 1 ? strchr(text, ' ') : "");
    return code;
}

static void a_queue_uses_its_block_again(void)
{
    char first[64], again[64];
    ferry_device_stats before;

    begin();
    before = stats();
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1), 0);
    CU_ASSERT_EQUAL(stats().allocs, before.allocs + 100);
    CU_ASSERT_EQUAL(stats().pool_hits, before.pool_hits + 99);
    CU_ASSERT_EQUAL(stats().live_bytes, before.live_bytes);
    CU_ASSERT_EQUAL(line(1, first, sizeof(first)), 0); /* the first was for the opening */
    CU_ASSERT_EQUAL(line(100, again, sizeof(again)), 0);
    CU_ASSERT_STRING_EQUAL(first, again);
    CU_ASSERT(((const float *)ferry_memory_host_data(y))[N - 1] == 100);
    end();
}

static void one_entry_uses_several_scratch_blocks(void)
{
    char first[64], second[64];

    begin();
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), 2, 1), 0);
    CU_ASSERT_EQUAL(line(1, first, sizeof(first)), 0);
    CU_ASSERT_EQUAL(line(2, second, sizeof(second)), 0);
    CU_ASSERT_STRING_NOT_EQUAL(first, second);
    end();
}

static void each_queue_has_a_separate_scratch_block_until_it_is_destroyed(void)
{
    char first[64], second[64], freed[64];
    ferry_queue *q = NULL;

    begin();
    CU_ASSERT_EQUAL_FATAL(ferry_queue_create(dev, &q), 0);
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1), 0);
    CU_ASSERT_EQUAL(add(q, N, 1), 0);
    CU_ASSERT_EQUAL(line(1, first, sizeof(first)), 0);
    CU_ASSERT_EQUAL(line(2, second, sizeof(second)), 0);
    CU_ASSERT_STRING_NOT_EQUAL(first, second);
    ferry_queue_destroy(q);
    CU_ASSERT_EQUAL(line(3, freed, sizeof(freed)), 2);
    CU_ASSERT_STRING_EQUAL(freed, second);
    CU_ASSERT_EQUAL(ferry_device_trim(dev), 0);
    CU_ASSERT_EQUAL(line(4, freed, sizeof(freed)), 2);
    CU_ASSERT_STRING_EQUAL(freed, first);
    end();
}

static void scratch_is_refused_outside_an_entry_of_a_queue(void)
{
    char block[64];

    begin();
    CU_ASSERT_EQUAL(line(0, block, sizeof(block)), FERRY_EINVAL);
    end();
}

static void a_device_without_the_flag_gets_no_scratch(void)
{
    setenv("GOOD_SCRATCH_UNSAID", "1", 1);
    begin();
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "FERRY_DEVICE_SCRATCH"));
    end();
    unsetenv("GOOD_SCRATCH_UNSAID");
}

static void a_scratch_block_that_cannot_be_allocated_is_reported(void)
{
    begin();
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1e9), FERRY_ENOMEM);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "scratch: "));
    CU_ASSERT_EQUAL(ferry_device_set_budget(dev, 2 * N * sizeof(float) + 100), 0);
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1), FERRY_ENOMEM);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(ferry_last_error(), "alloc of 4096 bytes: 8000 are held of a budget of 8100"));
    CU_ASSERT_EQUAL(ferry_device_set_budget(dev, 0), 0);
    CU_ASSERT_EQUAL(add(ferry_device_queue(dev), N, 1), 0);
    CU_ASSERT(((const float *)ferry_memory_host_data(y))[0] == 1);
    end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_queue_uses_its_block_again),
    FERRY_TEST(one_entry_uses_several_scratch_blocks),
    FERRY_TEST(each_queue_has_a_separate_scratch_block_until_it_is_destroyed),
    FERRY_TEST(scratch_is_refused_outside_an_entry_of_a_queue),
    FERRY_TEST(a_device_without_the_flag_gets_no_scratch),
    FERRY_TEST(a_scratch_block_that_cannot_be_allocated_is_reported),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "scratch", cases, FERRY_TEST_COUNT(cases));
}
