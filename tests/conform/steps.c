/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Counters that threads change: one thread is stopped after each instruction of the plugin, and
 * another reads the counters. An instruction after which a counter differs has changed it. This is
 * safe if the processor executes the instruction atomically, or if other threads are locked out
 * meanwhile; if another thread can execute the same instructions at that moment, a change will be
 * lost sooner or later.
 */

#if defined(__x86_64__) && !KIT_SANITIZED

#define STEP_FLAG  0x100 /* of the processor's flags: a trap after each instruction */
#define MOST_STEPS 200000
#define PATIENCE   1.0   /* maximum seconds for a request to the other thread */
#define AT_WORK    0.002 /* of CPU time: it spins */
#define WAKES      2     /* number of checks at which it slept */

enum { NOTHING, READ, DO, END };

static struct {
    pthread_t thread;
    clockid_t clock;
    char stat[64]; /* of /proc */
    void (*once)(void);
    int asked; /* its request; NOTHING when it is done */
    ferry_plugin_counters counts;
} other;

static struct {
    pid_t thread;
    bool on, known; /* the counters before the last instruction are `counts` */
    bool pending;   /* the other thread was locked out, and has not returned */
    uintptr_t at;   /* the next instruction */
    unsigned steps, judged;
    bool unsafe;
    ferry_plugin_counters counts;
} stepped;

/* ---- the other thread ----------------------------------------------------------------------- */

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *arg)
{
    int what;

    snprintf(other.stat, sizeof(other.stat), "/proc/self/task/%d/stat", gettid());
    pthread_getcpuclockid(pthread_self(), &other.clock);
    for (;;) {
        __atomic_store_n(&other.asked, NOTHING, __ATOMIC_RELEASE);
        while ((what = __atomic_load_n(&other.asked, __ATOMIC_ACQUIRE)) == NOTHING)
            sched_yield();
        if (what == END)
            return arg;
        if (what == DO)
            other.once();
        else
            kit_counters(&other.counts);
    }
}

static bool is_back(void)
{
    return __atomic_load_n(&other.asked, __ATOMIC_ACQUIRE) == NOTHING;
}

/* Called in a signal handler: only system calls are allowed. */
static bool is_asleep(void)
{
    int fd = open(other.stat, O_RDONLY | O_CLOEXEC);
    char text[128], *state;
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] == 'S';
}

/* False if it does not return while this thread is stopped. */
static bool ask(int what)
{
    double begin = seconds_of(CLOCK_MONOTONIC), before = seconds_of(other.clock);
    int slept = 0;

    __atomic_store_n(&other.asked, what, __ATOMIC_RELEASE);
    while (!is_back()) {
        sched_yield();
        if (is_back())
            break;
        slept = is_asleep() ? slept + 1 : 0;
        if (slept > WAKES || seconds_of(other.clock) > before + AT_WORK ||
            seconds_of(CLOCK_MONOTONIC) > begin + PATIENCE)
            return is_back();
    }
    return true;
}

/* ---- the stopped thread --------------------------------------------------------------------- */

/*
 * Whether the instruction has the prefix `lock`, or is an exchange with memory, which does not need
 * the prefix.
 */
static bool is_at_once(const unsigned char *code)
{
    static const unsigned char prefixes[] = {
        0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0xf2, 0xf3
    };

    while (memchr(prefixes, *code, sizeof(prefixes)))
        code++;
    if (*code == 0xf0)
        return true;
    if ((*code & 0xf0) == 0x40)
        code++;
    return *code == 0x86 || *code == 0x87;
}

static bool has_changed(void)
{
    return memcmp(&stepped.counts, &other.counts, sizeof(other.counts)) != 0;
}

/* Records the current counters: they were changed by an instruction, or by other code. */
static void look(const unsigned char *instruction)
{
    if (stepped.pending) { /* the other thread waits for a lock of this thread, or did so before */
        stepped.pending = !is_back();
        stepped.judged += !stepped.pending && stepped.known && has_changed();
        stepped.known &= stepped.pending;
        return;
    }
    if (!ask(READ)) {
        stepped.pending = true;
        return;
    }
    if (stepped.known && instruction && has_changed()) {
        stepped.judged++;
        if (!is_at_once(instruction)) {
            stepped.unsafe = ask(DO);
            stepped.on = !stepped.unsafe;
            stepped.pending = !stepped.unsafe;
        }
    }
    stepped.counts = other.counts;
    stepped.known = true;
}

static void step(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t done = stepped.at, next = (uintptr_t)registers[REG_RIP];

    (void)number, (void)info;
    if (gettid() != stepped.thread || !stepped.on || ++stepped.steps > MOST_STEPS) {
        registers[REG_EFL] &= ~(greg_t)STEP_FLAG; /* a thread that was started meanwhile has the
                                                   * flag, too */
        return;
    }
    registers[REG_EFL] |= STEP_FLAG;
    stepped.at = next;
    if (kit_is_code(done))
        look((const unsigned char *)done);
    else if (kit_is_code(next))
        look(NULL);
}

/* ---- both threads --------------------------------------------------------------------------- */

static void go(void (*once)(void))
{
    struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO }, before;

    memset(&stepped, 0, sizeof(stepped));
    stepped.thread = gettid();
    kit_is_code(0);
    sigaction(SIGTRAP, &action, &before);
    stepped.on = true;
    raise(SIGTRAP);
    once();
    stepped.on = false;
    sigaction(SIGTRAP, &before, NULL);
}

bool kit_is_counted_safely(void (*once)(void), void (*another)(void))
{
    once();
    other.once = another;
    other.asked = READ;
    if (pthread_create(&other.thread, NULL, work, NULL) != 0)
        kit_fail("the check itself cannot start a thread");
    while (!is_back())
        sched_yield();
    go(once);
    while (!is_back())
        sched_yield();
    __atomic_store_n(&other.asked, END, __ATOMIC_RELEASE);
    pthread_join(other.thread, NULL);
    if (stepped.unsafe)
        kit_fail(
            "one thread was stopped while it changed a counter, and another could do the same: "
            "they are not counted safely");
    return stepped.judged >= 2;
}

#else

/* Returns false if instructions cannot be stepped here, or belong to shared code. */
bool kit_is_counted_safely(void (*once)(void), void (*another)(void))
{
    (void)once, (void)another;
    return false;
}

#endif
