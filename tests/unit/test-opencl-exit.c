/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "at-exit.h"
#include "ferry-test.h"
#include "opencl-layer.h"

/*
 * Programs on a driver that exit() shuts down. A later call, from ferry or from CLBlast, ends the
 * process.
 */

static void a_driver_that_has_ended_is_not_called(void)
{
    ocl_layer.ends = true;
    ax_run("opencl", false);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_driver_that_has_ended_is_not_called),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "opencl-exit", cases, FERRY_TEST_COUNT(cases));
}
