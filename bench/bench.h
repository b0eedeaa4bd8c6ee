/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_H
#define FERRY_BENCH_H

#include "measure.h"

/*
 * A suite is a function that measures and adds rows. The programs of `make bench` share main.c;
 * each lists its own: suites.c what uses ferry as any program does, suites-core.c what reaches
 * inside the core.
 */

struct bench_suite {
    const char *name;
    void (*run)(struct bench *b);
};

/* Of the program, up to one without a name. */
extern const struct bench_suite bench_suites[];
/* The backend of the device that its suites are given; NULL: each opens its own. */
extern const char *const bench_backend;

/* The path of a program beside this one; lives until the next call. */
const char *bench_beside(const char *name);

/* What a program said that run-child.c has started. */
struct bench_child {
    double first; /* seconds from its start to its first byte */
    double cpu;   /* seconds that it computed, in all: what others do meanwhile is not in it */
    long number;  /* the one on its last line */
};

/*
 * Runs a program, with this one's environment and one argument, to its end. Its output has two
 * lines or more. 0, or -1 if it does not start, fails, or says nothing.
 */
int bench_run_child(const char *program, const char *argument, struct bench_child *out);

/*
 * How long the selected device takes to be there, beside loading its plugin's file alone. Both in
 * child processes: nothing of ferry may be open here yet.
 */
void bench_start(struct bench *b);

/* Of `ferry bench`, whatever the device is. */
void bench_of_device(struct bench *b);

/* The suites. */
void bench_blob(struct bench *b);
void bench_coherence(struct bench *b);
void bench_conv(struct bench *b);
void bench_cuda(struct bench *b);
void bench_cuda_kernels(struct bench *b);
void bench_data(struct bench *b);
void bench_io(struct bench *b);
void bench_math(struct bench *b);
void bench_net(struct bench *b);
void bench_op(struct bench *b);
void bench_opencl(struct bench *b);
void bench_opencl_conv(struct bench *b);
void bench_pool(struct bench *b);
void bench_process(struct bench *b);
void bench_small(struct bench *b);
void bench_train(struct bench *b);
void bench_transfers(struct bench *b);

#endif
