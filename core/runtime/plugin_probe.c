/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/plugin_probe.h"
#include "core/base/log.h"
#include "core/base/os_posix.h"
#include "core/base/status.h"
#include "core/plugin/host.h"
#include "core/plugin/registry.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the child ------------------------------------------------------------------------------ */

/* Restores default signal handling in the child, and suppresses core dumps. */
static void behave_plainly(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                                   SIGTRAP, SIGSYS, SIGPIPE, SIGCHLD };
    struct rlimit none = { 0, 0 };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
}

/* Memory shared by the two processes. */
struct shared {
    struct ferry__verdict verdict;
    bool whole;      /* the verdict is complete */
    int64_t opening; /* the index of the device that is being opened; −1: none yet */
};

/* Opens and closes each device. The plugin is refused only if no device opens. */
static void open_devices(const struct ferry__plugin *plugin, struct shared *shared)
{
    struct ferry__verdict *verdict = &shared->verdict;
    uint32_t opened = 0;

    for (uint32_t i = 0; i < verdict->count; i++) {
        void *dev = NULL;
        char said[512];
        int err, code;

        shared->opening = i;
        ferry__host_take_error();
        ferry__host_enter(plugin);
        err = plugin->ops.device_open(plugin->ops.plugin, i, &dev);
        ferry__host_leave();
        code = err ? ferry__host_take_failure(err, said, sizeof(said)) : 0;
        opened += err == 0;
        if (!err)
            plugin->ops.device_close(dev);
        else if (!verdict->refusal.reason[0])
            ferry__refuse(&verdict->refusal, code, "", "its device %u does not open: %s", i, said);
    }
    if (verdict->count > 0 && opened == 0)
        verdict->code = verdict->refusal.code;
}

/* Never returns; leaves without the program's exit handlers and the plugin's destructors. */
static void run_child(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                      struct shared *shared)
{
    const struct ferry__plugin *plugin = NULL;
    struct ferry__verdict *verdict = &shared->verdict;
    const char *stage = FERRY__STAGE_DLOPEN;

    setpgid(0, 0);
    verdict->code = ferry__registry_open(candidate, settings, &plugin, &stage, &verdict->refusal);
    verdict->count = plugin ? ferry__registry_count(plugin) : 0;
    snprintf(verdict->stage, sizeof(verdict->stage), "%s", stage);
    if (!verdict->code) {
        verdict->refusal.reason[0] = verdict->refusal.hint[0] = '\0';
        open_devices(plugin, shared);
    }
    shared->whole = true;
    _exit(0);
}

/* ---- the parent process --------------------------------------------------------------------- */

static void sleep_ms(long ms)
{
    struct timespec pause = { 0, ms * 1000000 };

    nanosleep(&pause, NULL);
}

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the child, even if other processes hold its open files; false after the timeout. */
static bool wait_for(pid_t child, int timeout_ms, int *out_status)
{
    long long end = now_ms() + timeout_ms;

    for (long ms = 1; now_ms() < end; ms = ms < 10 ? ms + 1 : ms) {
        pid_t ended = waitpid(child, out_status, WNOHANG);

        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        sleep_ms(ms);
    }
    return false;
}

/*
 * Kills the processes that the child started: by its process group, and those that left the group
 * by their parent.
 */
static void end_all(pid_t child)
{
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    for (int tries = 0; tries < 1000; tries++) {
        pid_t ended = waitpid(-1, NULL, WNOHANG);

        if (ended < 0 && errno != EINTR)
            return;
        if (ended == 0) {
            ferry__os_kill_children();
            sleep_ms(1);
        }
    }
}

static void say_how_it_ended(int status, bool late, int timeout_ms, struct shared *shared)
{
    struct ferry__verdict *out = &shared->verdict;
    bool device = shared->opening >= 0;
    char what[64] = "opened";

    if (device)
        snprintf(what, sizeof(what), "its device %lld was opened", (long long)shared->opening);
    memset(out, 0, sizeof(*out));
    snprintf(out->stage, sizeof(out->stage), "%s",
             device ? FERRY__STAGE_DEVICES : FERRY__STAGE_OPEN);
    if (late)
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "its driver hangs: repair it first",
                      "no answer within %d ms when %s in a process of its own", timeout_ms, what);
    else if (WIFSIGNALED(status))
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "its driver crashes: repair it first",
                      "crashed when %s in a process of its own: signal %d (%s)", what,
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        ferry__refuse(&out->refusal, FERRY_EPLUGIN, "",
                      "ended the process of its own, when %s in it, with status %d", what,
                      WEXITSTATUS(status));
    out->code = out->refusal.code;
}

/*
 * The process between the program and the child. It becomes the parent of orphans, and ends them.
 * Never returns.
 */
static void look_after(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                       int timeout_ms, struct shared *shared)
{
    int status = 0;
    bool late;
    pid_t child;

    behave_plainly();
    ferry__os_adopt_orphans();
    child = fork();
    if (child == 0)
        run_child(candidate, settings, shared);
    if (child < 0)
        _exit(1);
    late = !wait_for(child, timeout_ms, &status);
    end_all(child);
    if (late || !shared->whole)
        say_how_it_ended(status, late, timeout_ms, shared);
    shared->whole = true;
    _exit(0);
}

/* ---- the program ---------------------------------------------------------------------------- */

/* Runs the two processes; 0 if there is a verdict, or an errno. */
static int run_processes(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                         int timeout_ms, struct shared *shared)
{
    pid_t child = fork();

    if (child == 0)
        look_after(candidate, settings, timeout_ms, shared);
    if (child < 0)
        return errno;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ; /* on ECHILD, the program has collected the child elsewhere */
    return shared->whole ? 0 : EAGAIN;
}

int ferry__plugin_probe(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                        int timeout_ms, struct ferry__verdict *out)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code = errno;

    if (shared != MAP_FAILED) {
        shared->opening = -1;
        code = run_processes(candidate, settings, timeout_ms, shared);
        *out = shared->verdict;
        munmap(shared, sizeof(*shared));
    }
    ferry__settings_destroy(settings);
    if (!code && !out->code && out->refusal.reason[0])
        ferry__log(FERRY_LOG_WARN, "%s: probe: %s", candidate->line.name, out->refusal.reason);
    return code ? ferry__error(FERRY_EIO, "%s: probe: no process for it: %s", candidate->line.name,
                               strerror(code))
                : 0;
}
