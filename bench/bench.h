/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_H
#define FERRY_BENCH_H

#include <ferry/ferry.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Figures, each beside a reference that was measured in the same run and, in turns, in the same
 * seconds: a ratio means something on any machine, a time on none.
 *
 * A suite is a function that measures and adds rows; main.c has the list of them.
 */

struct bench;
typedef void (*bench_suite)(struct bench *b);

/* Whether the ratio value : reference has to stay below the goal, or above it. */
enum bench_goal { BENCH_AT_MOST, BENCH_AT_LEAST };

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
double bench_time(bench_loop loop, void *arg);
/* Adds a row that was measured otherwise; with a reference of 0 the ratio is the value itself. */
void bench_add(struct bench *b, const char *figure, const char *unit, double value,
               double reference, enum bench_goal direction, double goal);
/* Says in a row's place why there is none. */
void bench_skip(struct bench *b, const char *figure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

double bench_now(void); /* seconds */
double bench_median(double *samples, int count);

/* The device that is measured on; the CPU's. */
ferry_device *bench_device(struct bench *b);
/* The path of a program beside this one; lives until the next call. */
const char *bench_beside(const char *name);

/* The suites. */
void bench_blob(struct bench *b);
void bench_math(struct bench *b);
void bench_process(struct bench *b);

/* libbenchref: a call into another shared object that returns a pointer. */
__attribute__((visibility("default"))) const void *bench_reference_pointer(const void *const *p);

#endif
