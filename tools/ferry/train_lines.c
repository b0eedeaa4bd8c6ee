/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "train.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/*
 * The state of the lines. One thread of the command runs solvers, so only its lines and its
 * progress are written here.
 */
static struct {
    bool begun;   /* lines below a warning are written */
    bool shown;   /* a progress line is on the terminal */
    double shown_at; /* time of the last progress line, in seconds */
    double began; /* end of the first iteration, and its number */
    int first;
} state;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void hide(void)
{
    if (state.shown)
        fputs("\r\033[K", stderr);
    state.shown = false;
}

/* ---- Caffe's lines --------------------------------------------------------------------------- */

static void line(void *arg, int level, const char *text)
{
    static const char letters[] = "EWII", name[] = "ferry: "; /* the prefix that each line already
                                                               * has */
    struct timeval now;
    struct tm parts;
    char stamp[32], *copy;

    (void)arg;
    if (level > FERRY_LOG_WARN && !state.begun)
        return;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &parts);
    strftime(stamp, sizeof stamp, "%m%d %H:%M:%S", &parts);
    copy = strdup(strncmp(text, name, strlen(name)) ? text : text + strlen(name));
    hide();
    fprintf(stderr, "%c%s.%06ld %5ld ferry] %s\n", letters[level], stamp, (long)now.tv_usec,
            (long)getpid(), copy ? tool_printable(copy) : "");
    free(copy);
}

void train_lines_prepare(void)
{
    setenv("FERRY_LOG", "info", 0);
    ferry_log_set_handler(line, NULL);
}

void train_lines_begin(void)
{
    state.begun = true;
}

void train_lines_end(void)
{
    train_progress_end();
    tool_log();
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Formats seconds as "1:02:03". */
static const char *clock_of(double left, char *buf, size_t size)
{
    long s = left < 0 ? 0 : left > 1e9 ? 1000000000L : (long)(left + 0.5);

    if (s >= 3600)
        snprintf(buf, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, size, "%ld:%02ld", s / 60, s % 60);
    return buf;
}

void train_progress(const ferry_solver *s, const ferry_solver_iteration *e, int64_t images)
{
    double now = seconds(), rate;
    char left[32];

    if (e->is_last || isatty(STDERR_FILENO) != 1)
        return;
    if (state.began == 0) {
        state.began = now;
        state.first = e->iter;
        return;
    }
    if (now - state.shown_at < 0.2 && e->iter + 1 < ferry_solver_max_iter(s))
        return;
    state.shown_at = now;
    rate = (e->iter - state.first) / (now > state.began ? now - state.began : 1);
    hide();
    fprintf(stderr, "iteration %d of %d   loss %.4g   lr %.4g", e->iter + 1,
            ferry_solver_max_iter(s), e->smoothed_loss, e->lr);
    if (images > 0)
        fprintf(stderr, "   %.0f images/s", rate * (double)images);
    if (rate > 0)
        fprintf(stderr, "   %s left",
                clock_of((ferry_solver_max_iter(s) - e->iter - 1) / rate, left, sizeof left));
    fflush(stderr);
    state.shown = true;
}

void train_progress_end(void)
{
    hide();
    fflush(stderr);
}
