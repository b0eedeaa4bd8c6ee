/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(const char *program, const char *argument, int output)
{
    char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (posix_spawn(&child, program, &actions, NULL, argv, environ) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int bench_run_child(const char *program, const char *argument, struct bench_child *out)
{
    double begin = bench_now();
    char text[64] = "";
    size_t length = 0;
    int ends[2], status = -1;
    struct rusage usage;
    const char *line;
    ssize_t got;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    child = start(program, argument, ends[1]);
    close(ends[1]);
    while (child > 0 && (got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0) {
        if (length == 0)
            out->first = bench_now() - begin;
        length += (size_t)got;
    }
    close(ends[0]);
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0 || length < 2)
        return -1;
    out->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    text[length - 1] = '\0';
    line = strrchr(text, '\n');
    out->number = strtol(line ? line + 1 : text, NULL, 10);
    return 0;
}
