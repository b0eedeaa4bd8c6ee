/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <cblas.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Figures of whole processes: how soon there is a first blob, and how large many blobs make one. */

#define STARTS 31

extern char **environ;

/*
 * Starts a program and reads what it says. *out_seconds is the time until its first byte, *out the
 * number on its last line.
 */
static int run_child(const char *program, const char *argument, double *out_seconds, long *out)
{
    char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL };
    posix_spawn_file_actions_t actions;
    char text[64] = "";
    size_t length = 0;
    double begin;
    int ends[2], status = -1;
    ssize_t got;
    pid_t child;

    if (pipe2(ends, 0) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    begin = bench_now();
    if (posix_spawn(&child, program, &actions, NULL, argv, environ) != 0)
        child = -1;
    close(ends[1]);
    while (child > 0 && (got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0) {
        if (length == 0)
            *out_seconds = bench_now() - begin;
        length += (size_t)got;
    }
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || length < 2)
        return -1;
    text[length - 1] = '\0';
    *out = strtol(strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text, NULL, 10);
    return 0;
}

/* The file that cblas_saxpy is in: what the CPU plugin opens, too. */
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
    long libraries = 0, none;

    for (int i = 0; i < STARTS; i++) {
        if (run_child(bench_beside("child-ferry"), "start", &ferry[i], &libraries) != 0 ||
            run_child(bench_beside("child-openblas"), openblas_path(), &openblas[i], &none) != 0) {
            bench_skip(b, figure, "the programs beside this one do not run");
            return;
        }
    }
    value = bench_median(ferry, STARTS);
    reference = bench_median(openblas, STARTS);
    bench_add(b, figure, "ms", value * 1e3, reference * 1e3, BENCH_AT_MOST, 1.3);
    bench_add(b, "  GPU libraries that opened", "", (double)libraries, 0, BENCH_AT_MOST, 0);
}

static void memory(struct bench *b)
{
    static const char figure[] = "memory of 10,000 blobs of 480 bytes : payload";
    double seconds;
    long bytes = -1;

    if (run_child(bench_beside("child-ferry"), "memory", &seconds, &bytes) != 0 || bytes < 0)
        bench_skip(b, figure, "the program beside this one does not run");
    else
        bench_add(b, figure, "MB", (double)bytes * 1e-6, 10000 * 480e-6, BENCH_AT_MOST, 2);
}

void bench_process(struct bench *b)
{
    setenv("FERRY_BACKEND", "cpu", 1);
    start(b);
    memory(b);
}
