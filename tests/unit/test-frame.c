/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The framework of all other tests, tested on itself: this program runs itself again with cases
 * that fail, skip and hang, and reads the report.
 */

static void inner_passes(void)
{
    CU_ASSERT(1);
}

static void inner_fails(void)
{
    CU_ASSERT_EQUAL(1, 2);
}

static void inner_skips(void)
{
    ferry_test_skip("because of %d things", 3);
}

static void inner_hangs(void)
{
    for (;;)
        pause();
}

static const ferry_test_case inner_cases[] = {
    FERRY_TEST(inner_passes),
    FERRY_TEST(inner_fails),
    FERRY_TEST(inner_skips),
    FERRY_TEST(inner_hangs),
};

static char output[8192];

/* Runs one case of this program's inner table and stores its output. */
static int run_inner(const char *only)
{
    char command[4096];
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *pipe;
    size_t got;

    CU_ASSERT_FATAL(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof(command), "FERRY_TEST_INNER=1 FERRY_TEST_TIMEOUT=1 '%s' '%s' 2>&1",
             self, only);
    pipe = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    got = fread(output, 1, sizeof(output) - 1, pipe);
    output[got] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void a_passing_case_is_counted_and_exits_0(void)
{
    CU_ASSERT_EQUAL(run_inner("inner_passes"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "ferry-test: inner: 1 passed, 0 failed, 0 skipped"));
}

static void a_failing_case_is_counted_named_and_exits_1(void)
{
    CU_ASSERT_EQUAL(run_inner("inner_fails"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "FAIL inner_fails"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "test-frame.c"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "ferry-test: inner: 0 passed, 1 failed, 0 skipped"));
}

static void a_skipped_case_gives_its_reason_and_exits_77(void)
{
    CU_ASSERT_EQUAL(run_inner("inner_skips"), 77);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "SKIP inner_skips: because of 3 things"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "ferry-test: inner: 0 passed, 0 failed, 1 skipped"));
}

static void a_hanging_case_is_ended_and_named(void)
{
    CU_ASSERT_EQUAL(run_inner("inner_hangs"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "timed out in inner_hangs"));
}

static void a_failure_outweighs_a_pass_and_a_skip(void)
{
    CU_ASSERT_EQUAL(run_inner("s"), 1); /* passes, fails, skips, and hangs last */
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "pass inner_passes"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "FAIL inner_fails"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_passing_case_is_counted_and_exits_0),
    FERRY_TEST(a_failing_case_is_counted_named_and_exits_1),
    FERRY_TEST(a_skipped_case_gives_its_reason_and_exits_77),
    FERRY_TEST(a_hanging_case_is_ended_and_named),
    FERRY_TEST(a_failure_outweighs_a_pass_and_a_skip),
};

int main(int argc, char **argv)
{
    if (getenv("FERRY_TEST_INNER"))
        return ferry_test_main(argc, argv, "inner", inner_cases, FERRY_TEST_COUNT(inner_cases));
    return ferry_test_main(argc, argv, "frame", cases, FERRY_TEST_COUNT(cases));
}
