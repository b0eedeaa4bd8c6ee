/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include "elf.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The list of groups, and the child process of each. */

static const struct {
    const char *name;
    void (*run)(void);
    const char *about;
    bool is_long; /* not with --quick */
} groups[] = {
    { "descriptor", group_descriptor, "the file, its note, its table, its options", false },
    { "memory", group_memory, "alloc and free, of every size", false },
    { "copy", group_copy, "memcpy in all directions", false },
    { "memset", group_memset, "memset", false },
    { "axpy", group_axpy, "y += alpha x", false },
    { "scal", group_scal, "x *= alpha", false },
    { "copy-op", group_copy_op, "the copy entry, y = x", false },
    { "fill", group_fill, "y = value", false },
    { "convert", group_convert, "between all dtypes", false },
    { "dot", group_dot, "sum of x y", false },
    { "asum", group_asum, "sum of |x|", false },
    { "sumsq", group_sumsq, "sum of x squared", false },
    { "gemv", group_gemv, "matrix by vector", false },
    { "gemm", group_gemm, "matrix by matrix", false },
    { "ops", group_ops, "prepared operations, each kind", false },
    { "ops-values", group_ops_values, "NaN, infinities, equal maxima", true },
    { "ops-steps", group_ops_steps, "steps after an operation, any strides", true },
    { "ops-reuse", group_ops_reuse, "shared constants, threads, hundreds in a row", true },
    { "ops-large", group_ops_large, "10^3 to 10^7 outputs, long sums", true },
    { "ops-random", group_ops_random, "random operations, from a seed", true },
    { "graph", group_graph, "segments of a net: claimed, compiled, saved", false },
    { "profile", group_profile, "times on the device's clock", false },
    { "queues", group_queues, "order of the work on a queue", false },
    { "events", group_events, "completion of events", false },
    { "import", group_import, "host memory as device memory; map and unmap", false },
    { "peer", group_peer, "copies between two devices", false },
    { "threads", group_threads, "concurrent calls", false },
    { "failure", group_failure, "impossible requests, and the state after them", false },
    { "leaks", group_leaks, "everything is freed", false },
    { "fork", group_fork, "child processes", false },
    { "exit", group_exit, "the end of a program, with its device closed or not", false },
    { "coherence", group_coherence, "every head state and operation, through ferry", false },
};

const char *conform_name(size_t group)
{
    return group < sizeof(groups) / sizeof(groups[0]) ? groups[group].name : NULL;
}

bool conform_is_long(size_t group)
{
    return groups[group].is_long;
}

const char *conform_about(size_t group)
{
    return groups[group].about;
}

void conform_plugin_name(const char *path, char *out, size_t size)
{
    elf_plugin_name(path, out, size);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The child's exit status; false if it had to be killed. */
static bool collect(pid_t child, unsigned seconds, int *status)
{
    double deadline = now() + seconds;
    struct timespec pause = { 0, 200000 };

    while (waitpid(child, status, WNOHANG) == 0) {
        if (now() > deadline) {
            kill(child, SIGKILL);
            waitpid(child, status, 0);
            return false;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000)
            pause.tv_nsec *= 2;
    }
    return true;
}

static void judge(const struct kit_account *account, bool in_time, int status, unsigned seconds,
                  struct conform_report *out)
{
    const char *running = account->running[0] ? account->running : "before its first case";

    out->result = account->result;
    out->devices = account->devices;
    out->refused = account->refused;
    memcpy(out->detail, account->detail, sizeof(out->detail));
    memcpy(out->skipped, account->skipped, sizeof(out->skipped));
    if (account->result >= 0)
        return;
    out->result = CONFORM_FAIL;
    if (!in_time)
        snprintf(out->detail, sizeof(out->detail), "%s: not done after %u s", running, seconds);
    else if (WIFSIGNALED(status))
        snprintf(out->detail, sizeof(out->detail), "%s: crashed with signal %d (%s)", running,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out->detail, sizeof(out->detail), "%s: ended the process with status %d", running,
                 WEXITSTATUS(status));
}

/* Forwards the group's standard error: its last output, or a sanitizer's report. */
static void pass_on(int errors)
{
    char text[4096];
    off_t at = 0;
    ssize_t n;

    while ((n = pread(errors, text, sizeof(text), at)) > 0 &&
           write(STDERR_FILENO, text, (size_t)n) == n)
        at += n;
}

int conform_run(const struct conform_target *target, size_t group, struct conform_report *out)
{
    struct kit_account *account =
        mmap(NULL, sizeof(*account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0, errors = memfd_create("errors", MFD_CLOEXEC);
    bool is_large = groups[group].run == group_ops_large;
    unsigned seconds = target->timeout * (is_large ? 6 : 1) + 60 * target->minutes;
    double begin = now();
    bool in_time;
    pid_t child;

    if (account == MAP_FAILED) {
        close(errors);
        return -1;
    }
    account->result = -1;
    account->devices = -1;
    fflush(NULL);
    child = fork();
    if (child == 0)
        kit_run(target, groups[group].run, account, errors);
    if (child < 0) {
        int why = errno;

        munmap(account, sizeof(*account));
        close(errors);
        errno = why;
        return -1;
    }
    in_time = collect(child, seconds, &status);
    memset(out, 0, sizeof(*out));
    judge(account, in_time, status, seconds, out);
    out->seconds = now() - begin;
    if (out->result == CONFORM_FAIL || KIT_SANITIZED)
        pass_on(errors);
    close(errors);
    munmap(account, sizeof(*account));
    return 0;
}
