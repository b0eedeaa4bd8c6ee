/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(const char *const *argv, int input, int output)
{
    posix_spawn_file_actions_t actions;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
        child = 0;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static int read_numbers(const struct bench_peer *p, double *out, int numbers)
{
    char line[256], *at = line, *end;

    if (!fgets(line, sizeof line, p->from))
        return -1;
    for (int i = 0; i < numbers; i++, at = end) {
        out[i] = strtod(at, &end);
        if (end == at)
            return -1;
    }
    return 0;
}

int bench_peer_start(struct bench_peer *p, const char *const *argv, double *out, int numbers)
{
    int in[2], from[2];

    *p = (struct bench_peer){ .pid = 0 };
    if (pipe2(in, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    p->pid = start(argv, in[0], from[1]);
    close(in[0]);
    close(from[1]);
    p->to = fdopen(in[1], "w");
    p->from = fdopen(from[0], "r");
    if (p->pid && p->to && p->from && read_numbers(p, out, numbers) == 0)
        return 0;
    bench_peer_stop(p);
    return -1;
}

int bench_peer_ask(struct bench_peer *p, const char *line, double *out, int numbers)
{
    if (fprintf(p->to, "%s\n", line) < 0 || fflush(p->to) != 0)
        return -1;
    return read_numbers(p, out, numbers);
}

void bench_peer_stop(struct bench_peer *p)
{
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    if (p->pid)
        waitpid(p->pid, NULL, 0);
    *p = (struct bench_peer){ .pid = 0 };
}

int bench_peer_finish(const char *const *argv)
{
    int status = -1;
    pid_t pid = start(argv, STDIN_FILENO, STDERR_FILENO);

    return pid && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}
