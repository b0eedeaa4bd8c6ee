/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Seconds before there is a line, and between two. */
#define PATIENCE 1.0
#define INTERVAL 0.1

/* What is said at most to be left, seconds: 999 minutes. */
#define MOST_LEFT 59940

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(struct progress *p, const char *what, const char *unit, uint64_t total)
{
    p->shown = !p->quiet && isatty(STDERR_FILENO) == 1;
    p->what = what;
    p->unit = unit;
    p->total = total;
    p->done = 0;
    p->last = 0;
    p->begin = seconds();
}

void progress_text(const struct progress *p, double elapsed, char *buf, size_t size)
{
    static const char bar[] = "##############################";
    const int width = (int)sizeof(bar) - 1;
    double part = p->total ? (double)p->done / (double)p->total : 1;
    double rate = (double)p->done / elapsed;
    double left = rate > 0 && p->total > p->done ? (double)(p->total - p->done) / rate : 0;
    unsigned s = left < MOST_LEFT ? (unsigned)(left + 0.5) : MOST_LEFT;
    char text[32], speed[64];

    if (p->unit)
        snprintf(speed, sizeof(speed), "%.3g %s", rate, p->unit);
    else
        snprintf(speed, sizeof(speed), "%s", tool_bytes((uint64_t)rate, text, sizeof(text)));
    snprintf(buf, size, "%s [%-*.*s] %3d%%  %s/s  %u:%02u left", p->what, width,
             (int)(part * width), bar, (int)(part * 100), speed, s / 60, s % 60);
}

void progress_step(struct progress *p, uint64_t done)
{
    double now;
    char line[160];

    p->done += done;
    if (!p->shown)
        return;
    now = seconds();
    if (now - p->begin < PATIENCE || now - p->last < INTERVAL)
        return;
    p->last = now;
    progress_text(p, now - p->begin, line, sizeof(line));
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

void catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
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
