/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Measurements of whole processes: the time until the first blob, and the memory of many blobs. */

#define STARTS 31

/* The path of the library with cblas_saxpy, which the CPU plugin opens too. */
static const char *openblas_path(void)
{
    Dl_info info;

    if (dladdr((void *)(uintptr_t)cblas_saxpy, &info) && info.dli_fname)
        return info.dli_fname;
    return "libopenblas.so.0";
}

static void start(struct bench *b)
{
    static const char figure[] = "process start to first blob : OpenBLAS alone";
    double ferry[STARTS], openblas[STARTS], value, reference;
    struct bench_child child = { 0 }, other;

    for (int i = 0; i < STARTS; i++) {
        if (bench_run_child(bench_beside("child-ferry"), "start", &child) != 0 ||
            bench_run_child(bench_beside("child-openblas"), openblas_path(), &other) != 0) {
            bench_skip(b, figure, "the helper programs beside this one do not run");
            return;
        }
        ferry[i] = child.first;
        openblas[i] = other.first;
    }
    value = bench_median(ferry, STARTS);
    reference = bench_median(openblas, STARTS);
    bench_add(b, figure, "ms", value * 1e3, reference * 1e3, BENCH_AT_MOST, 1.3);
    bench_add(b, "  GPU libraries that it opened", "", (double)child.number, 0, BENCH_AT_MOST, 0);
}

static void memory(struct bench *b)
{
    static const char figure[] = "memory of 10,000 blobs of 480 bytes : payload";
    struct bench_child child;

    if (bench_run_child(bench_beside("child-ferry"), "memory", &child) != 0 || child.number < 0)
        bench_skip(b, figure, "the helper program beside this one does not run");
    else
        bench_add(b, figure, "MB", (double)child.number * 1e-6, 10000 * 480e-6, BENCH_AT_MOST, 2);
}

/* A folder with one plugin, and a folder with the same plugin and nine others. */
static void ten_plugins(struct bench *b)
{
    static const char figure[] = "one of ten plugins, beyond that one alone";
    static const char *const folders[] = { "plugins/ten", "plugins/one" };
    const char *usual = getenv("FERRY_PLUGIN_PATH");
    char *before = usual ? strdup(usual) : NULL;
    double seconds[2][STARTS];
    struct bench_child child;
    int failed = 0;

    setenv("FERRY_BACKEND", "ten_5", 1);
    for (int i = 0; i < 2 * STARTS && !failed; i++) {
        setenv("FERRY_PLUGIN_PATH", bench_beside(folders[i % 2]), 1);
        failed = bench_run_child(bench_beside("child-ferry"), "start", &child);
        seconds[i % 2][i / 2] = child.first;
    }
    if (before)
        setenv("FERRY_PLUGIN_PATH", before, 1);
    free(before);
    setenv("FERRY_BACKEND", "cpu", 1);
    if (failed) {
        bench_skip(b, figure, "the helper program beside this one does not run");
        return;
    }
    bench_add(b, figure, "ms",
              1e3 * (bench_median(seconds[0], STARTS) - bench_median(seconds[1], STARTS)), 0,
              BENCH_AT_MOST, 2);
}

void bench_process(struct bench *b)
{
    setenv("FERRY_BACKEND", "cpu", 1);
    start(b);
    ten_plugins(b);
    memory(b);
}
