/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/plugin_probe.h"
#include "core/base/status.h"
#include "core/plugin/registry.h"

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

/* ---- the child ------------------------------------------------------------------------------ */

/* The program's handlers are not for its children, and a crash here is no news to keep. */
static void behave_plainly(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                   SIGABRT, SIGTRAP, SIGSYS, SIGPIPE };
    struct rlimit none = { 0, 0 };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
}

static void write_all(int fd, const void *bytes, size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t n = write(fd, from, size);

        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            from += n;
            size -= (size_t)n;
        }
    }
}

/* Never returns; leaves without the program's exit handlers and the plugin's destructors. */
static void run_child(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                      int fd)
{
    static struct ferry__verdict verdict;
    const struct ferry__plugin *plugin = NULL;
    const char *stage = FERRY__STAGE_DLOPEN;

    behave_plainly();
    verdict.code = ferry__registry_open(candidate, settings, &plugin, &stage, &verdict.refusal);
    verdict.count = plugin ? ferry__registry_count(plugin) : 0;
    snprintf(verdict.stage, sizeof(verdict.stage), "%s", stage);
    write_all(fd, &verdict, sizeof(verdict));
    _exit(0);
}

/* ---- the parent ----------------------------------------------------------------------------- */

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How many bytes of the verdict arrived; *out_late: the time was up. */
static size_t read_verdict(int fd, int timeout_ms, struct ferry__verdict *out, bool *out_late)
{
    long long end = now_ms() + timeout_ms;
    size_t got = 0;

    *out_late = false;
    while (got < sizeof(*out)) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        long long left = end - now_ms();
        int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        ssize_t n;

        if (ready == 0) {
            *out_late = true;
            return got;
        }
        n = ready > 0 ? read(fd, (char *)out + got, sizeof(*out) - got) : -1;
        if (n == 0 || (n < 0 && errno != EINTR))
            return got;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

/* The child's status; 0 where the program has somebody else collect its children. */
static int collect(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

static void say_how_it_ended(int status, bool late, int timeout_ms, struct ferry__verdict *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->stage, sizeof(out->stage), "%s", FERRY__STAGE_OPEN);
    if (late)
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "its driver hangs: see to that first",
                      "no answer within %d ms when opened in a process of its own", timeout_ms);
    else if (WIFSIGNALED(status))
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "its driver crashes: see to that first",
                      "crashed when opened in a process of its own: signal %d (%s)",
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "",
                      "ended the process of its own that it was opened in, with status %d",
                      WEXITSTATUS(status));
    out->code = out->refusal.code;
}

int ferry__plugin_probe(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                     int timeout_ms, struct ferry__verdict *out)
{
    int ends[2], status;
    bool late;
    size_t got;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        ferry__settings_destroy(settings);
        return ferry__error(FERRY_EIO, "%s: probe: pipe: %s", candidate->line.name,
                            strerror(errno));
    }
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(candidate, settings, ends[1]);
    }
    ferry__settings_destroy(settings);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return ferry__error(FERRY_EIO, "%s: probe: fork: %s", candidate->line.name,
                            strerror(errno));
    }
    got = read_verdict(ends[0], timeout_ms, out, &late);
    close(ends[0]);
    if (late)
        kill(child, SIGKILL);
    status = collect(child);
    if (got < sizeof(*out))
        say_how_it_ended(status, late, timeout_ms, out);
    return 0;
}
