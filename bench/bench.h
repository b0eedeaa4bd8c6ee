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
 * A suite is a function that measures and adds rows. Two programs share bench.c: suites.c lists
 * what uses ferry as any program does, suites-core.c what reaches inside the core.
 */

struct bench;

struct bench_suite {
    const char *name;
    void (*run)(struct bench *b);
};

/* Of the program, up to one without a name. */
extern const struct bench_suite bench_suites[];

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

/* What a program said that run-child.c has started. */
struct bench_child {
    double first; /* seconds from its start to its first byte */
    double cpu;   /* seconds that it computed, in all: what others do meanwhile is not in it */
    long number;  /* the one on its last line */
};

/*
 * Runs a program, with this one's environment and one argument, to its end. Its output has two lines
 * or more. 0, or -1 if it does not start, fails, or says nothing.
 */
int bench_run_child(const char *program, const char *argument, struct bench_child *out);

/* The suites. */
void bench_blob(struct bench *b);
void bench_coherence(struct bench *b);
void bench_cuda(struct bench *b);
void bench_io(struct bench *b);
void bench_math(struct bench *b);
void bench_opencl(struct bench *b);
void bench_pool(struct bench *b);
void bench_process(struct bench *b);
void bench_transfers(struct bench *b);

/* libbenchref: a call into another shared object that returns a pointer. */
__attribute__((visibility("default"))) const void *bench_reference_pointer(const void *const *p);

#endif
