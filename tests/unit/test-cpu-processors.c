/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"
#include "plugin-driver.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The CPU plugin's option `processors`, as the system shows it. */

#define ELEMENTS (INT64_C(1) << 22)

static const ferry_plugin_ops *ops;

/* Opens a device with these options; NULL: that failed. */
static void *open_with(const char *processors, const char *threads)
{
    void *dev = NULL;

    ops = ops ? ops : driver_load("cpu", NULL);
    driver_reset();
    driver_set("processors", processors);
    driver_set("threads", threads);
    return ops->device_open(ops->plugin, 0, &dev) == 0 ? dev : NULL;
}

/* A loop that is large enough for several threads. */
static void run_a_loop(void *dev)
{
    void *block = NULL;
    uint32_t flags = 0;

    CU_ASSERT_EQUAL_FATAL(ops->alloc(dev, NULL, ELEMENTS * sizeof(float), 0, &block, &flags), 0);
    CU_ASSERT_EQUAL(ops->fill(dev, NULL, FERRY_F32, ELEMENTS, 2, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(ops->free(dev, NULL, block), 0);
}

/* The number of this process's threads that may run on that processor only; *threads has all. */
static int bound_to(int processor, int *threads)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int bound = 0;

    *threads = 0;
    while (tasks && (entry = readdir(tasks))) {
        pid_t id = (pid_t)atoi(entry->d_name);
        cpu_set_t set;

        if (id <= 0 || sched_getaffinity(id, sizeof(set), &set) != 0)
            continue;
        ++*threads;
        bound += CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)processor, &set);
    }
    if (tasks)
        closedir(tasks);
    return bound;
}

/* The last processor that this process may run on. */
static int last_allowed(void)
{
    cpu_set_t set;
    int last = 0;

    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(set), &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET((size_t)i, &set) ? i : last;
    return last;
}

static void the_helper_threads_are_bound(void)
{
    int last = last_allowed(), threads = 0, before = bound_to(last, &threads), without = threads;
    char list[64];
    void *dev;

    snprintf(list, sizeof(list), "%d,%d,%d", last, last, last);
    dev = open_with(list, "0");
    CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
    run_a_loop(dev);
    CU_ASSERT_EQUAL(bound_to(last, &threads), before + 2); /* threads = 0: one for each number */
    CU_ASSERT_EQUAL(threads, without + 2);
    driver_close(ops, dev);
}

/* As a program does that gives its own thread the first place. */
static void a_bound_caller_does_not_forbid_the_other_processors(void)
{
    cpu_set_t before, one;
    char list[64];
    void *dev;

    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(before), &before), 0);
    if (CPU_COUNT(&before) < 2) {
        ferry_test_skip("this process may run on one processor only");
        return;
    }
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET((size_t)i, &before))
            CPU_SET((size_t)i, &one);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(one), &one), 0);
    snprintf(list, sizeof(list), "%d", last_allowed());
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(before), &before), 0);
    snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", last_allowed());
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(one), &one), 0);
    dev = open_with(list, "0");
    CU_ASSERT_PTR_NOT_NULL(dev);
    if (dev)
        driver_close(ops, dev);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void without_the_option_threads_are_not_bound(void)
{
    int last = last_allowed(), threads = 0, before = bound_to(last, &threads);
    void *dev = open_with(NULL, "3");

    CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
    run_a_loop(dev);
    CU_ASSERT_EQUAL(bound_to(last, &threads), before);
    driver_close(ops, dev);
}

static void wrong_lists_are_refused(void)
{
    CU_ASSERT_PTR_NULL(open_with("0-", "0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "option.processors = 0-: expected numbers"));
    if (sysconf(_SC_NPROCESSORS_CONF) > 1023)
        return;
    CU_ASSERT_PTR_NULL(open_with("1023", "0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "may not run on processor 1023"));
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(the_helper_threads_are_bound),
        FERRY_TEST(a_bound_caller_does_not_forbid_the_other_processors),
        FERRY_TEST(without_the_option_threads_are_not_bound),
        FERRY_TEST(wrong_lists_are_refused),
    };

    if (!ferry_test_is_built("cpu")) {
        printf("ferry-test: cpu-processors: 0 passed, 0 failed, 1 skipped\n");
        return 77;
    }
    return ferry_test_main(argc, argv, "cpu-processors", cases, FERRY_TEST_COUNT(cases));
}
