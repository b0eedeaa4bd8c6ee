/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "check-run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

char out[262144];

/* Runs a command and stores its output; returns its exit status. */
static int shell(const char *command)
{
    FILE *pipe = popen(command, "r");
    size_t n;
    int status;

    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    n = fread(out, 1, sizeof(out) - 1, pipe);
    out[n] = '\0';
    status = pclose(pipe);
    CU_ASSERT_FATAL(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int check(const char *arguments)
{
    char line[2048];

    snprintf(line, sizeof(line), "\"$FERRY_TEST_COMMAND\" check %s 2>&1", arguments);
    return shell(line);
}

int check_bad(const char *name, const char *more)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments),
             "\"$FERRY_TEST_BUILDDIR\"/tests/plugins/bad/ferry_%s.so %s", name, more);
    return check(arguments);
}

bool is_in_a_hurry(void)
{
    return ferry_test_is_slow() && getenv("FERRY_TEST_QUICK");
}

/*
 * Whether a quick run skips this case: it runs one of four, because each of them exercises the code
 * for a sanitizer.
 */
static bool is_left_out(void)
{
    static unsigned n;

    return is_in_a_hurry() && n++ % 4;
}

void caught(const char *name, const char *group, const char *words)
{
    char more[128], line[64], *found;

    if (is_left_out())
        return;
    snprintf(more, sizeof(more), "--timeout 60 --only %s", group);
    snprintf(line, sizeof(line), "fail         %-10s  ", group);
    CU_ASSERT_EQUAL(check_bad(name, more), 1);
    found = strstr(out, line);
    CU_ASSERT_PTR_NOT_NULL(found);
    CU_ASSERT(found && strstr(found, words));
    if (!found || !strstr(found, words))
        printf("     %s: %s", name, out);
}

bool check_can_run(void)
{
    if (getenv("FERRY_TEST_COMMAND") && getenv("FERRY_TEST_BUILDDIR"))
        return true;
    puts("FERRY_TEST_COMMAND and FERRY_TEST_BUILDDIR say where the programs are");
    return false;
}
