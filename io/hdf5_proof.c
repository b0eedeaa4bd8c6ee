/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Limits of the child: seconds of time, seconds of processor time for a small file, and for each 8
 * MiB. 15,000 datasets need less than half a second.
 */
#define PATIENCE      60
#define LEAST_SECONDS 5
#define SECOND_BYTES  (8u * 1024 * 1024)

/* Address space: libhdf5's memory and the result hold the text of the file a few times. */
#define LEAN_BYTES (64u * 1024 * 1024)
#define LEAN_TIMES 4

/* The child's result; small enough for one atomic write to a pipe. */
struct verdict {
    int err;
    char message[1024];
};

/* ---- the child ------------------------------------------------------------------------------ */

static bool is_child;
static struct rlimit usual; /* the original limit of the address space */
static rlim_t file_needs;   /* the file needs more address space than the limit allows */

/* The address space of this process in bytes; 0 if the system does not report it. */
static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

void ferry__hdf5_lean_begin(void)
{
    rlim_t has = is_child ? address_space() : 0;
    struct rlimit lean = usual;

    if (has == 0 || has + file_needs >= lean.rlim_cur)
        return;
    lean.rlim_cur = has + file_needs;
    setrlimit(RLIMIT_AS, &lean);
}

void ferry__hdf5_lean_end(void)
{
    if (is_child)
        setrlimit(RLIMIT_AS, &usual);
}

/* The child does not run the program's crash handlers: it dies of the signal, without output. */
static void isolate_child(const struct ferry_io *io)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGXCPU };
    const struct rlimit none = { 0, 0 };
    const rlim_t seconds = LEAST_SECONDS + io->file.size / SECOND_BYTES;
    const struct rlimit time = { seconds, seconds + 1 };
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sigset_t all;

    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &time);
    is_child = getrlimit(RLIMIT_AS, &usual) == 0;
    file_needs = LEAN_BYTES + LEAN_TIMES * (rlim_t)io->file.size;
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    alarm(PATIENCE);
}

static void run_child(struct ferry_io *io, int (*walk)(struct ferry_io *io), int to)
{
    struct verdict verdict = { .err = FERRY_OK };
    ssize_t wrote;

    isolate_child(io);
    verdict.err = walk(io);
    if (verdict.err)
        snprintf(verdict.message, sizeof(verdict.message), "%s", ferry_last_error());
    do
        wrote = write(to, &verdict, sizeof(verdict));
    while (wrote < 0 && errno == EINTR);
    _exit(0); /* exit handlers of the program do not run here */
}

/* ---- this process --------------------------------------------------------------------------- */

static bool read_verdict(int from, struct verdict *out)
{
    size_t got = 0;

    while (got < sizeof(*out)) {
        ssize_t n = read(from, (char *)out + got, sizeof(*out) - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    out->message[sizeof(out->message) - 1] = '\0';
    return true;
}

/* A program that waits for any child may have collected this one: then there is no exit status. */
static int wait_for(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int ended_badly(const struct ferry_io *io, int deadly)
{
    if (deadly == SIGALRM || deadly == SIGXCPU || deadly == SIGKILL)
        return ferry_error_set(FERRY_EFORMAT, "%s: libhdf5 does not finish reading its headers",
                               io->file.path);
    return ferry_error_set(FERRY_EFORMAT, "%s: is damaged: libhdf5 crashes on its headers (%s)",
                           io->file.path, deadly ? strsignal(deadly) : "signal unknown");
}

int ferry__hdf5_prove(struct ferry_io *io, int (*walk)(struct ferry_io *io))
{
    struct verdict verdict;
    bool complete;
    int ends[2], deadly;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return ferry_error_set(FERRY_EIO, "%s: a pipe: %s", io->file.path, strerror(errno));
    child = fork();
    if (child == 0)
        run_child(io, walk, ends[1]);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return ferry_error_set(FERRY_EIO, "%s: cannot start a process that reads its headers: %s",
                               io->file.path, strerror(errno));
    }
    complete = read_verdict(ends[0], &verdict);
    close(ends[0]);
    deadly = wait_for(child);
    if (!complete)
        return ended_badly(io, deadly);
    return verdict.err ? ferry_error_set(verdict.err, "%s", verdict.message) : FERRY_OK;
}
