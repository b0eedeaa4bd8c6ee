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

/*
 * A lock that another thread of this process holds at the fork stays locked in the child, for
 * example an allocator's (glibc's is free of it, AddressSanitizer's is not). A child that uses no
 * processor time for STUCK_MS is killed, and another one started.
 */
#define STUCK_MS 5000
#define CHILDREN (PATIENCE * 1000 / (2 * STUCK_MS)) /* a stuck child is killed within 2 *
                                                     * STUCK_MS */

/*
 * The address space for libhdf5's memory and the result, which hold the text of the file a few
 * times.
 */
#define LEAN_BYTES (64u * 1024 * 1024)
#define LEAN_TIMES 4

/* The child's result; small enough for one atomic write to a pipe. */
struct verdict {
    int err;
    char message[1024];
};

struct child {
    struct verdict verdict;
    bool is_complete; /* the child has written the verdict */
    bool is_stuck;    /* the child was killed */
    int deadly;       /* the signal that ended the child; 0 if it is not known */
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

/*
 * Resets signal handlers, so that the child does not run the program's crash handlers: a signal
 * ends it without output.
 */
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
    _exit(0); /* without the program's exit handlers */
}

/* ---- this process --------------------------------------------------------------------------- */

/* The processor time of the child in nanoseconds; 0 if it is not known. */
static uint64_t time_used(pid_t child)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until the child writes or ends; false if it is stuck. */
static bool is_running(pid_t child, int from)
{
    struct pollfd end = { .fd = from, .events = POLLIN };
    uint64_t used;
    int n;

    do {
        used = time_used(child);
        n = poll(&end, 1, STUCK_MS);
    } while ((n < 0 && errno == EINTR) || (n == 0 && time_used(child) != used));
    return n != 0;
}

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

/*
 * Waits for the child's end and returns its exit status; unknown if the program waits for any child
 * and has collected this one.
 */
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

/* Runs one child. An error is returned only for a failure of this process. */
static int try_child(struct ferry_io *io, int (*walk)(struct ferry_io *io), struct child *out)
{
    int ends[2];
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
    out->is_stuck = !is_running(child, ends[0]);
    if (out->is_stuck)
        kill(child, SIGKILL);
    out->is_complete = read_verdict(ends[0], &out->verdict);
    close(ends[0]);
    out->deadly = wait_for(child);
    return FERRY_OK;
}

int ferry__hdf5_prove(struct ferry_io *io, int (*walk)(struct ferry_io *io))
{
    struct child child;
    int err;

    for (int i = 0; i < CHILDREN; i++) {
        err = try_child(io, walk, &child);
        if (err)
            return err;
        if (child.is_complete || !child.is_stuck)
            break;
    }
    if (!child.is_complete)
        return ended_badly(io, child.deadly);
    return child.verdict.err ? ferry_error_set(child.verdict.err, "%s", child.verdict.message)
                             : FERRY_OK;
}
