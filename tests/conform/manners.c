/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * What belongs to the program and to no plugin: its output, its signals, its folder, how numbers are
 * computed and written. It is looked at when a group is done, and on each of its threads.
 */

static const char *const stream_names[] = { "standard output", "standard error" };
static int streams[2] = { -1, -1 }; /* what is printed there goes here */
static int report = -1;             /* what was standard error */

static char folder[PATH_MAX];
static mode_t mask;
static struct sigaction actions[NSIG];

/* ---- what is printed ------------------------------------------------------------------------ */

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

    kit_case("%s, which is the program's", stream_names[i]);
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
 * Compilers inside vendors' drivers take signals, and a plugin cannot help that: a handler fails the
 * group where it is code of the plugin's file.
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
    kit_case("signal %d (%s), which is the program's", number, strsignal(number));
    if (is.sa_handler == SIG_IGN || is.sa_handler == SIG_DFL)
        kit_fail("it is %s now", is.sa_handler == SIG_IGN ? "ignored" : "back to its default");
    if (is_of_the_plugin(&is))
        kit_fail("the plugin has taken it");
}

static void signals_are_the_program_s(void)
{
    for (int i = 1; i < NSIG; i++)
        look_at_handler(i, &actions[i]);
}

/* ---- of each thread ------------------------------------------------------------------------- */

static void expect_no_signal_held_back(void)
{
    sigset_t set;

    kit_case("the signals that the calling thread holds back");
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&set, i) == 1)
            kit_fail("signal %d (%s) has become one of them", i, strsignal(i));
}

/* Tried, rather than read from a register: so it is the same on every processor. */
static void expect_plain_arithmetic(void)
{
    volatile float denormal = FLT_MIN / 1024, least = FLT_MIN, many = 0x1p30f, half = 0.5f;

    kit_case("the calling thread's arithmetic");
    if (denormal * many == 0)
        kit_fail("denormal numbers count as 0 now, in the whole program: -ffast-math does that "
                 "when the plugin is loaded");
    if (least * half * many == 0)
        kit_fail("results below the least normal number become 0 now, in the whole program: "
                 "-ffast-math does that when the plugin is loaded");
    if (fegetround() != FE_TONEAREST)
        kit_fail("the rounding mode has changed");
    if (fegetexcept() != 0)
        kit_fail("floating-point exceptions end the program now");
}

void kit_thread_manners(void)
{
    expect_plain_arithmetic();
    expect_no_signal_held_back();
    kit_case("the calling thread's locale");
    if (uselocale((locale_t)0) != LC_GLOBAL_LOCALE)
        kit_fail("it has one of its own now");
}

/* ---- of the process ------------------------------------------------------------------------- */

static void expect_the_same_process(void)
{
    const char *locale = setlocale(LC_ALL, NULL);
    char now[PATH_MAX] = "";
    mode_t then = mask;

    kit_case("the program's locale");
    if (strcmp(locale, "C") != 0)
        kit_fail("it has become \"%s\"", locale);
    kit_case("the program's working folder");
    if (folder[0] && (!getcwd(now, sizeof(now)) || strcmp(now, folder) != 0))
        kit_fail("it has become %.200s", now);
    kit_case("the program's umask");
    mask = umask(then);
    if (mask != then)
        kit_fail("it has become %03o, was %03o", (unsigned)mask, (unsigned)then);
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
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &actions[i]);
}

void kit_manners_end(void)
{
    expect_silence(0);
    if (!KIT_SANITIZED) /* which has its say there, and need not mean the plugin */
        expect_silence(1);
    expect_the_same_process();
    signals_are_the_program_s();
    kit_thread_manners();
}
