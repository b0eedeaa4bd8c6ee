/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_MEASURE_H
#define FERRY_BENCH_MEASURE_H

#include <ferry/ferry.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Measurements, each compared with a reference that was measured in the same run and alternating
 * with it: a ratio is meaningful on any machine, a time is not. Shared by `make bench` and `ferry
 * bench`.
 */

/* Whether the ratio value : reference has to be at most the goal, or at least. */
enum bench_goal { BENCH_AT_MOST, BENCH_AT_LEAST, BENCH_NO_GOAL };

struct bench_row {
    char figure[96], unit[8], reason[160];
    double value, reference, ratio, goal;
    enum bench_goal direction;
    bool met;
};

#define BENCH_MOST_ROWS 128

struct bench {
    ferry_device *device; /* the measured device */
    bool quick;           /* fewer and shorter samples: checks that it runs */
    bool at_once; /* rows of the table are printed at once, so that an interrupted run has shown
                   * some */
    int count, printed;
    struct bench_row row[BENCH_MOST_ROWS];
};

/* Runs the measured code `times` times. */
typedef void (*bench_loop)(void *arg, int64_t times);

struct bench_figure {
    const char *figure;
    bench_loop value, reference;
    void *arg;
    double bytes; /* bytes per repetition, for GB/s; 0: nanoseconds per repetition */
    enum bench_goal direction;
    double goal;
};

/* Runs both loops in turn and adds a row with their medians. Returns the value's median. */
double bench_measure(struct bench *b, const struct bench_figure *f);
/* The median of one loop alone, in seconds per repetition. */
double bench_time(const struct bench *b, bench_loop loop, void *arg);
/*
 * Adds a row that was measured in another way; with a reference of 0 the ratio is the value itself.
 */
void bench_add(struct bench *b, const char *figure, const char *unit, double value,
               double reference, enum bench_goal direction, double goal);
/* Adds a row with the reason why it was not measured. */
void bench_skip(struct bench *b, const char *figure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

double bench_now(void); /* seconds */
double bench_median(double *samples, int count);
/* Prints the rows as a table, or as JSON. */
void bench_print(struct bench *b, bool json);

/*
 * Calls a function of libferry that only returns a pointer: the reference for calls that should
 * cost little more than a call into another shared object.
 */
void bench_bare_call(void *arg, int64_t times);

#endif
