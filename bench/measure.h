/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_MEASURE_H
#define FERRY_BENCH_MEASURE_H

#include <ferry/ferry.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Figures, each beside a reference that was measured in the same run and, in turns, in the same
 * seconds: a ratio means something on any machine, a time on none. `make bench` and `ferry bench`
 * share this.
 */

/* Whether the ratio value : reference has to stay below the goal, or above it. */
enum bench_goal { BENCH_AT_MOST, BENCH_AT_LEAST, BENCH_NO_GOAL };

struct bench_row {
    char figure[96], unit[8], reason[160];
    double value, reference, ratio, goal;
    enum bench_goal direction;
    bool met;
};

#define BENCH_MOST_ROWS 128

struct bench {
    ferry_device *device; /* that is measured on */
    bool quick;           /* fewer and shorter samples: whether it runs, rather than how fast */
    bool at_once; /* the table's rows are printed as they come: who is interrupted has some */
    int count, printed;
    struct bench_row row[BENCH_MOST_ROWS];
};

/* Does what is measured so many times over. */
typedef void (*bench_loop)(void *arg, int64_t times);

struct bench_figure {
    const char *figure;
    bench_loop value, reference;
    void *arg;
    double bytes; /* what one time moves, for GB/s; 0: nanoseconds a time */
    enum bench_goal direction;
    double goal;
};

/* Runs both loops by turns, and adds a row of their medians. Returns the value's median. */
double bench_measure(struct bench *b, const struct bench_figure *f);
/* The median of one loop alone, in seconds a time. */
double bench_time(const struct bench *b, bench_loop loop, void *arg);
/* Adds a row that was measured otherwise; with a reference of 0 the ratio is the value itself. */
void bench_add(struct bench *b, const char *figure, const char *unit, double value,
               double reference, enum bench_goal direction, double goal);
/* Says in a row's place why there is none. */
void bench_skip(struct bench *b, const char *figure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

double bench_now(void); /* seconds */
double bench_median(double *samples, int count);
/* As a table, or as JSON. */
void bench_print(struct bench *b, bool json);

/*
 * Calls a function of libferry that returns a pointer and does nothing else: the reference of what
 * should cost little more than a call into another shared object.
 */
void bench_bare_call(void *arg, int64_t times);

#endif
