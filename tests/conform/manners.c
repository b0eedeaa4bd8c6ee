/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * State that belongs to the program and not to a plugin: its output, signals, working folder, and
 * the modes of arithmetic and formatting. It is checked at the end of a group, and on each of its
 * threads.
 */

static const char *const stream_names[] = { "standard output", "standard error" };
static int streams[2] = { -1, -1 }; /* the file that receives the output */
static int report = -1;             /* the original standard error */

static char folder[PATH_MAX];
static mode_t mask;
static struct sigaction actions[NSIG];
static char **variables; /* copies */

/* Macros, because a C library declares a type of its own for them. */
#define LIMITS(X)  \
    X(RLIMIT_AS)   \
    X(RLIMIT_CORE) \
    X(RLIMIT_CPU) X(RLIMIT_DATA) X(RLIMIT_FSIZE) X(RLIMIT_MEMLOCK) X(RLIMIT_NOFILE) X(RLIMIT_STACK)
#define NAME(limit) #limit,
#define READ(limit) getrlimit(limit, out++);

static const char *const limit_names[] = { LIMITS(NAME) };
enum { LIMIT_COUNT = sizeof(limit_names) / sizeof(limit_names[0]) };
static struct rlimit limits[LIMIT_COUNT];
static struct stat input; /* standard input */
static cpu_set_t processors;

/* ---- output --------------------------------------------------------------------------------- */

static void catch_output(int i, int fd, int file)
{
    streams[i] = file;
    dup2(file >= 0 ? file : report, fd); /* standard output has the report */
}

void kit_log(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    dprintf(report, "%s\n", line);
}

static void expect_silence(int i)
{
    char text[100];
    ssize_t n;

    kit_case("%s, which belongs to the program", stream_names[i]);
    fflush(NULL);
    n = streams[i] < 0 ? 0 : pread(streams[i], text, sizeof(text) - 1, 0);
    if (n <= 0)
        return;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    kit_fail("something was printed there: \"%s\"; host->log is for that", text);
}

/* ---- signals -------------------------------------------------------------------------------- */

/*
 * Compilers inside vendors' drivers install signal handlers, which a plugin cannot prevent: a
 * handler fails the group if it is code of the plugin's file.
 */
static bool is_of_the_plugin(const struct sigaction *action)
{
    void *handler = NULL;
    Dl_info info;

    memcpy(&handler, &action->sa_handler, sizeof(handler));
    return dladdr(handler, &info) != 0 && kit.library && info.dli_fname &&
           strcmp(info.dli_fname, kit.target->path) == 0;
}

static void look_at_handler(int number, const struct sigaction *was)
{
    struct sigaction is;

    if (sigaction(number, NULL, &is) != 0 || is.sa_handler == was->sa_handler)
        return;
    kit_case("signal %d (%s), which belongs to the program", number, strsignal(number));
    if (is.sa_handler == SIG_IGN || is.sa_handler == SIG_DFL)
        kit_fail("it is %s now", is.sa_handler == SIG_IGN ? "ignored" : "back to its default");
    if (is_of_the_plugin(&is))
        kit_fail("the plugin has installed a handler");
}

static void signals_are_the_program_s(void)
{
    for (int i = 1; i < NSIG; i++)
        look_at_handler(i, &actions[i]);
}

/* ---- per-thread state ----------------------------------------------------------------------- */

static void expect_no_signal_held_back(void)
{
    sigset_t set;

    kit_case("the signals that the calling thread blocks");
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&set, i) == 1)
            kit_fail("signal %d (%s) is blocked now", i, strsignal(i));
}

/* Tested by computing rather than by reading a register, which works on every processor. */
static void expect_plain_arithmetic(void)
{
    volatile float denormal = FLT_MIN / 1024, least = FLT_MIN, many = 0x1p30f, half = 0.5f;

    kit_case("the calling thread's arithmetic");
    if (denormal * many == 0)
        kit_fail("denormal numbers count as 0 now, in the whole program: -ffast-math causes that "
                 "when the plugin is loaded");
    if (least * half * many == 0)
        kit_fail("results below the least normal number become 0 now, in the whole program: "
                 "-ffast-math causes that when the plugin is loaded");
    if (fegetround() != FE_TONEAREST)
        kit_fail("the rounding mode has changed");
    if (fegetexcept() != 0)
        kit_fail("floating-point exceptions end the program now");
}

static void expect_the_same_processors(void)
{
    cpu_set_t now;

    kit_case("the processors that the calling thread may run on");
    if (CPU_COUNT(&processors) && sched_getaffinity(0, sizeof(now), &now) == 0 &&
        !CPU_EQUAL(&now, &processors))
        kit_fail("%d now, %d before, or others", CPU_COUNT(&now), CPU_COUNT(&processors));
}

void kit_thread_manners(void)
{
    expect_plain_arithmetic();
    expect_no_signal_held_back();
    expect_the_same_processors();
    kit_case("the calling thread's locale");
    if (uselocale((locale_t)0) != LC_GLOBAL_LOCALE)
        kit_fail("the thread has one of its own now");
}

/* ---- process state -------------------------------------------------------------------------- */

static size_t count_variables(char **list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

/* The program's variables; vendors' libraries set some of their own until a device is open. */
static void keep_variables(void)
{
    size_t n = count_variables(environ);
    char **list = calloc(n + 1, sizeof(*list));

    for (size_t i = 0; list && i < n; i++)
        list[i] = strdup(environ[i]);
    variables = list;
}

static bool has_variable(char **list, const char *wanted)
{
    for (; list && *list; list++)
        if (strcmp(*list, wanted) == 0)
            return true;
    return false;
}

/*
 * setenv frees strings that another thread's getenv may be reading: only the program can know that
 * no other thread does.
 */
static void expect_variables(char **wanted, char **list, const char *what)
{
    kit_case("the program's environment");
    for (; wanted && list && *wanted; wanted++)
        if (!has_variable(list, *wanted))
            kit_fail("it %s \"%.100s\"", what, *wanted);
}

void kit_manners_opened(void)
{
    expect_variables(variables, environ, "lost");
    keep_variables();
}

static void read_limits(struct rlimit *out)
{
    LIMITS(READ)
}

static void expect_the_same_limits(void)
{
    struct rlimit now[LIMIT_COUNT];

    read_limits(now);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        kit_case("the program's limit %s", limit_names[i]);
        if (now[i].rlim_cur != limits[i].rlim_cur)
            kit_fail("it became %lld, was %lld", (long long)now[i].rlim_cur,
                     (long long)limits[i].rlim_cur);
    }
}

static void expect_the_same_input(void)
{
    struct stat now;

    kit_case("standard input, which belongs to the program");
    if (input.st_ino && (fstat(STDIN_FILENO, &now) != 0 || now.st_ino != input.st_ino ||
                         now.st_dev != input.st_dev))
        kit_fail("it was closed, or is a different file");
}

/* The program's own wait would find the child; and an unexpected signal would arrive. */
static void expect_no_child_and_no_timer(void)
{
    struct itimerval timers[3] = { { .it_value = { 0, 0 } } };
    siginfo_t info;

    kit_case("the program's children");
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        kit_fail("there is one now");
    kit_case("the program's timers, of setitimer and alarm");
    getitimer(ITIMER_REAL, &timers[0]);
    getitimer(ITIMER_VIRTUAL, &timers[1]);
    getitimer(ITIMER_PROF, &timers[2]);
    for (int i = 0; i < 3; i++)
        if (timers[i].it_value.tv_sec || timers[i].it_value.tv_usec)
            kit_fail("one is running now");
}

static void expect_the_same_process(void)
{
    const char *locale = setlocale(LC_ALL, NULL);
    char now[PATH_MAX] = "";
    mode_t then = mask;

    kit_case("the program's locale");
    if (strcmp(locale, "C") != 0)
        kit_fail("it became \"%s\"", locale);
    kit_case("the program's working folder");
    if (folder[0] && (!getcwd(now, sizeof(now)) || strcmp(now, folder) != 0))
        kit_fail("it became %.200s", now);
    kit_case("the program's umask");
    mask = umask(then);
    if (mask != then)
        kit_fail("it became %03o, was %03o", (unsigned)mask, (unsigned)then);
    expect_variables(variables, environ, "lost");
    expect_variables(environ, variables, "has got");
    expect_the_same_limits();
    expect_the_same_input();
    expect_no_child_and_no_timer();
}

void kit_manners_begin(int errors)
{
    sigset_t none;

    report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    catch_output(0, STDOUT_FILENO, memfd_create("output", MFD_CLOEXEC));
    catch_output(1, STDERR_FILENO, errors);
    if (!getcwd(folder, sizeof(folder)))
        folder[0] = '\0';
    mask = umask(022);
    umask(mask);
    keep_variables();
    read_limits(limits);
    if (fstat(STDIN_FILENO, &input) != 0)
        input.st_ino = 0;
    if (sched_getaffinity(0, sizeof(processors), &processors) != 0)
        CPU_ZERO(&processors);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &actions[i]);
}

void kit_manners_end(void)
{
    expect_silence(0);
    if (!KIT_SANITIZED) /* which prints a report there that need not concern the plugin */
        expect_silence(1);
    expect_the_same_process();
    signals_are_the_program_s();
    kit_thread_manners();
}
