/* SPDX-License-Identifier: BSD-2-Clause */
#include "at-exit.h"
#include "ferry-test.h"

/* Programs that use ferry while they end; test-opencl-exit has those of OpenCL. */

static void a_device_with_memory_of_its_own_ends_when_its_driver_may(void)
{
    ax_run("sim", false);
}

static void memory_of_the_host_is_there_to_the_end(void)
{
    if (ferry_test_is_built("cpu"))
        ax_run("cpu", true);
    else
        ferry_test_skip("there is no cpu plugin");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_device_with_memory_of_its_own_ends_when_its_driver_may),
    FERRY_TEST(memory_of_the_host_is_there_to_the_end),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "exit", cases, FERRY_TEST_COUNT(cases));
}
