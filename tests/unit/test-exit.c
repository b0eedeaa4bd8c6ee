/* SPDX-License-Identifier: BSD-2-Clause */
#include "at-exit.h"
#include "ferry-test.h"

/* Programs that use ferry while they end; test-opencl-exit has those of OpenCL. */

static void a_device_with_separate_memory_may_end_with_its_driver_at_exit(void)
{
    ax_run("sim", false);
}

static void host_memory_stays_readable_until_exit(void)
{
    if (ferry_test_is_built("cpu"))
        ax_run("cpu", true);
    else
        ferry_test_skip("there is no cpu plugin");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_device_with_separate_memory_may_end_with_its_driver_at_exit),
    FERRY_TEST(host_memory_stays_readable_until_exit),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "exit", cases, FERRY_TEST_COUNT(cases));
}
