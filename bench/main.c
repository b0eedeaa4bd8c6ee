/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `make bench`: runs the suites of a program on their device. */

const char *bench_beside(const char *name)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s", name);
    return path;
}

static int run_suites(struct bench *b, const char *only, bool json)
{
    for (const struct bench_suite *suite = bench_suites; suite->name; suite++)
        if (!only || strcmp(only, suite->name) == 0)
            suite->run(b);
    if (b->count > 0 || !only) /* otherwise the suite belongs to the other program */
        bench_print(b, json);
    return 0;
}

/* A missed goal is not a failure: the machine may be busy. */
int main(int argc, char **argv)
{
    static struct bench b;
    const ferry_runtime_options options = { .struct_size = sizeof(options),
                                            .backend = bench_backend };
    ferry_runtime *runtime = NULL;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const char *only = argc > 1 + json ? argv[1 + json] : NULL;
    int status = 1;

    b.at_once = !json;
    b.quick = getenv("BENCH_QUICK") != NULL; /* checks that it runs; the figures are meaningless */
    if (!bench_backend || (ferry_runtime_open(&options, &runtime) == 0 &&
                           ferry_runtime_get_device(runtime, NULL, &b.device) == 0))
        status = run_suites(&b, only, json);
    ferry_runtime_close(runtime);
    if (status)
        fprintf(stderr, "bench: %s\n", ferry_last_error());
    return status;
}
