/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_H
#define FERRY_BENCH_H

#include "measure.h"

/*
 * A suite is a function that measures and adds rows. The programs of `make bench` share main.c;
 * each has its own list of suites: suites.c lists those that use ferry like any program,
 * suites-core.c those that use the core's internal functions.
 */

struct bench_suite {
    const char *name;
    void (*run)(struct bench *b);
};

/* The suites of the program; an entry without a name ends the list. */
extern const struct bench_suite bench_suites[];
/* The backend of the device that its suites get; NULL: each suite opens its own. */
extern const char *const bench_backend;

/* The path of a program in the folder of this one; valid until the next call. */
const char *bench_beside(const char *name);

/* The result of a program run by run-child.c. */
struct bench_child {
    double first; /* seconds from its start to its first byte of output */
    double cpu;   /* its CPU time in seconds, which excludes other processes */
    long number;  /* the number on its last line */
};

/*
 * Runs a program, with this one's environment and one argument, until it ends. It must write two
 * lines or more. 0, or -1 if it does not start, fails, or writes nothing.
 */
int bench_run_child(const char *program, const char *argument, struct bench_child *out);

/*
 * The time until the selected device is open, compared with loading its plugin's file alone. Both
 * run in child processes: ferry may not be in use here yet.
 */
void bench_start(struct bench *b);

/* The suites of `ferry bench`, for any device. */
void bench_of_device(struct bench *b);

/* The suites. */
void bench_bf16(struct bench *b);
void bench_blob(struct bench *b);
void bench_coherence(struct bench *b);
void bench_conv(struct bench *b);
void bench_cuda(struct bench *b);
void bench_cuda_kernels(struct bench *b);
void bench_data(struct bench *b);
void bench_first(struct bench *b);
void bench_io(struct bench *b);
void bench_math(struct bench *b);
void bench_net(struct bench *b);
void bench_op(struct bench *b);
void bench_opencl(struct bench *b);
void bench_opencl_conv(struct bench *b);
void bench_pool(struct bench *b);
void bench_process(struct bench *b);
void bench_quantized(struct bench *b);
void bench_small(struct bench *b);
void bench_train(struct bench *b);
void bench_training(struct bench *b);
void bench_training_bf16(struct bench *b);
void bench_transfers(struct bench *b);

#endif
