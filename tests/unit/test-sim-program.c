/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

/* The effect of the simulated device's options on a program that uses ferry. */

static void an_injected_allocation_failure_is_reported_despite_a_cached_block(void)
{
    ferry_memory *small, *large;

    wx_begin();
    small = wx_memory(0);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_device_data(small).handle);
    ferry_memory_release(small); /* its block is cached, so the pool has a block to release */
    FX_OK_FATAL(ferry_memory_create(wx_dev(0), 2 * WX_BYTES, &large));
    FX_FAILED(FERRY_ENOMEM, ferry_memory_overwrite_device_data(large).handle == NULL);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_device_data(large).handle);
    ferry_memory_release(large);
    wx_end();
}

int main(int argc, char **argv)
{
    static const char *const second_alloc[] = { "devices",    "2", "clock",     "sync",
                                                "latency",    "0", "bandwidth", "0",
                                                "fail_alloc", "2", NULL };
    static const ferry_test_case second_alloc_cases[] = {
        FERRY_TEST(an_injected_allocation_failure_is_reported_despite_a_cached_block),
    };
    static const struct wx_world worlds[] = {
        { "the second allocation fails", second_alloc, second_alloc_cases,
          FERRY_TEST_COUNT(second_alloc_cases) },
    };

    return wx_main(argc, argv, "sim-program", worlds, FERRY_TEST_COUNT(worlds));
}
