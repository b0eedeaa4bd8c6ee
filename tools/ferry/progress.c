/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "progress.h"
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* The number of seconds before the first line, and between two lines. */
#define PATIENCE 1.0
#define INTERVAL 0.1

/* The length of the bar in characters, and of the shortest bar. */
#define BAR       30
#define LEAST_BAR 4

/* The largest remaining time that is shown, in seconds: 999 minutes. */
#define MOST_LEFT 59940

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Whether the terminal can show a progress line: it can return to the beginning of its line. */
static bool can_be_shown(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDERR_FILENO) == 1 && !(kind && strcmp(kind, "dumb") == 0);
}

/* The terminal's width; 0 if unknown. */
static int columns(void)
{
    struct winsize size = { .ws_col = 0 };

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void progress_begin(struct progress *p, const char *what, const char *unit, uint64_t total)
{
    p->shown = !p->quiet && can_be_shown();
    p->what = what;
    p->unit = unit;
    p->total = total;
    p->done = 0;
    p->last = 0;
    p->begin = seconds();
}

void progress_text(const struct progress *p, double elapsed, int room, char *buf, size_t size)
{
    static const char bar[BAR + 1] = "##############################";
    double part = p->total ? (double)p->done / (double)p->total : 1;
    double rate = (double)p->done / elapsed;
    double left = rate > 0 && p->total > p->done ? (double)(p->total - p->done) / rate : 0;
    unsigned s = left < MOST_LEFT ? (unsigned)(left + 0.5) : MOST_LEFT;
    char text[32], speed[64], rest[128];
    int width = BAR;

    if (p->unit)
        snprintf(speed, sizeof(speed), "%.3g %s", rate, p->unit);
    else
        snprintf(speed, sizeof(speed), "%s", tool_bytes((uint64_t)rate, text, sizeof(text)));
    snprintf(rest, sizeof(rest), "%3d%%  %s/s  %u:%02u left", (int)(part * 100), speed, s / 60,
             s % 60);
    if (room > 0 && room < (int)(strlen(p->what) + 4 + strlen(rest)) + BAR)
        width = room - (int)(strlen(p->what) + 4 + strlen(rest));
    if (width >= LEAST_BAR)
        snprintf(buf, size, "%s [%-*.*s] %s", p->what, width, (int)(part * width), bar, rest);
    else
        snprintf(buf, size < (size_t)room + 1 ? size : (size_t)room + 1, "%s %s", p->what, rest);
}

void progress_step(struct progress *p, uint64_t done)
{
    double now;
    char line[160];
    int room;

    p->done += done;
    if (!p->shown)
        return;
    now = seconds();
    if (now - p->begin < PATIENCE || now - p->last < INTERVAL)
        return;
    p->last = now;
    room = columns() - 1; /* leaves a column free, because a line that reaches the edge would
                           * wrap */
    progress_text(p, now - p->begin, room > 0 ? room : 0, line, sizeof(line));
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->shown && p->last > 0)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

/* ---- interrupts ----------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupt;

static void on_signal(int number)
{
    interrupt = number;
}

/*
 * Catches a signal. One that the parent has set to be ignored, as nohup(1) does with SIGHUP, stays
 * ignored.
 */
static void catch_signal(int number)
{
    struct sigaction action = { .sa_handler = on_signal }, inherited;

    if (sigaction(number, NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void catch_interrupts(void)
{
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
}

bool is_interrupted(void)
{
    return interrupt != 0;
}

void die_if_interrupted(void)
{
    if (!interrupt)
        return;
    signal(interrupt, SIG_DFL);
    raise(interrupt);
}
