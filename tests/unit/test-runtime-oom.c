/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"
#include "oom.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every allocation made while a runtime is opened and used fails once. */

/* Uses every function once, while allocation number `n` fails. Returns whether one failed. */
static bool use_runtime(unsigned n)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int err, count = -1;

    oom_arm(n);
    err = ferry_runtime_open(NULL, &rt);
    CU_ASSERT(err == 0 || (err == FERRY_ENOMEM && !rt));
    for (int i = 0; !err && i < ferry_runtime_candidate_count(rt); i++) {
        const ferry_runtime_candidate_info *line;

        CU_ASSERT_EQUAL_FATAL(ferry_runtime_candidate_at(rt, i, &line), 0);
        CU_ASSERT_PTR_NULL(strstr(line->path, "memory"));
        CU_ASSERT_PTR_NULL(strstr(line->name, "memory"));
    }
    if (!err) {
        err = ferry_runtime_set_option(rt, "beta", "devices", "3");
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM || err == FERRY_EBUSY);
        err = ferry_runtime_get_device(rt, NULL, &dev);
        CU_ASSERT(err == 0 || (oom_has_failed() && !dev));
        err = ferry_runtime_enumerate(rt, &count);
        CU_ASSERT((err == 0 && count >= 0) || (err == FERRY_ENOMEM && count == -1));
    }
    ferry_runtime_close(rt);
    return oom_disarm();
}

static void every_allocation_of_a_runtime_may_fail(void)
{
    const char *folder = fakes_folder();
    char text[4096];
    unsigned n;

    fakes_put(folder, "open_fails", NULL);
    fakes_put(folder, "alpha", NULL);
    fakes_put(folder, "beta", NULL);
    fakes_write(folder, "ferry_text.so", "no plugin");
    snprintf(text, sizeof(text),
             "[ferry]\nbackend = open_fails, alpha, beta\n[plugin alpha]\nlibrary = "
             "ferry_alpha.so\npool_limit = 1MiB\noption.devices = 1\n[plugin none]\n");
    setenv("FERRY_PLUGIN_PATH", folder, 1);
    setenv("FERRY_CONF", fakes_write(folder, "c.conf", text), 1);
    unsetenv("FERRY_BACKEND");
    for (n = 1; use_runtime(n); n++)
        ;
    CU_ASSERT(n > 40); /* the minimum number of allocations */
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_allocation_of_a_runtime_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "runtime-oom", cases, FERRY_TEST_COUNT(cases));
}
