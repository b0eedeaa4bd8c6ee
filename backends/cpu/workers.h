/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread pool, whose threads help with one large loop at a time. Callers that limit their threads
 * use several pools concurrently, as many as the device's threads divided by the limit.
 *
 * The threads start with the first loop that is large enough and sleep between loops. A caller that
 * finds all pools busy, or runs in a child of fork, which has no threads, runs its loop alone: the
 * result is identical bit for bit, because the pieces are.
 */
#ifndef FERRY_CPU_WORKERS_H
#define FERRY_CPU_WORKERS_H

#include "processors.h"

#include <stdint.h>

struct workers;

/* Processes elements first … first + count − 1 of a loop; `piece` counts pieces from 0. */
typedef void (*workers_body)(void *arg, int64_t first, int64_t count, int64_t piece);

/* The maximum number of pieces of a loop. */
#define WORKERS_MAX_PIECES 256
/* The number of bytes that one thread reads and writes in a piece. */
#define WORKERS_PIECE_BYTES (256 * 1024)
/*
 * The number of multiplications below which a second thread costs more than it helps, some ten
 * microseconds.
 */
#define WORKERS_FEW_PRODUCTS (512 * 1024)

#define WORKERS_MOST_THREADS 1024

/* The number of threads that this process may run at a time. */
unsigned workers_allowed(void);

/*
 * Creates pools for loops on `threads` ≥ 1 threads, including the caller's. NULL: out of memory.
 *
 * Thread i of the device is bound to the processor `i modulo count` of the list, which is copied;
 * an empty list binds none. The first thread of a pool is its caller's: the program may bind it to
 * that processor, and the pool never does.
 */
struct workers *workers_create(unsigned threads, const struct processors *processors);
/* Ends the threads; no loop may be running. NULL is accepted. */
void workers_destroy(struct workers *w);

/* The maximum number of threads of a loop, including the caller's. */
unsigned workers_threads(const struct workers *w);
/* Limits the threads of the loops that the calling thread runs from now on; 0: no limit. */
void workers_limit(unsigned threads);
/* The limit of the calling thread; 0: none. */
unsigned workers_get_limit(void);

/*
 * Makes the loops that the calling thread runs from now on run on this thread alone, task after
 * task, and adds them to `counts`; NULL ends this. counts[WORKERS_THREADS] is set to the threads
 * that the loops are divided for.
 */
enum {
    WORKERS_THREADS,
    WORKERS_LOOPS,   /* the loops with several tasks, each of which ends with a barrier */
    WORKERS_TASKS,   /* their tasks */
    WORKERS_NS,      /* the processor's time of these tasks, in ns */
    WORKERS_SLOWEST, /* the same of the thread with the most work of each loop, if the threads take
                      * the tasks in order, each as soon as it is free */
    WORKERS_COUNTS
};
void workers_count(uint64_t *counts);

/*
 * The number of elements per piece of a loop over n; n if dividing the loop costs more than it
 * helps. It depends only on n and on `bytes`, the cost of an element.
 */
int64_t workers_piece(int64_t n, int64_t bytes);
/* Runs the body over 0 … n − 1, in pieces of that size, and returns when all are done. */
void workers_run(struct workers *w, int64_t n, int64_t piece, workers_body body, void *arg);

/*
 * Runs one of many tasks; `slot`, from 0 to workers_threads − 1, differs for tasks that run at the
 * same time.
 */
typedef void (*workers_task)(void *arg, int64_t task, unsigned slot);
/* Runs tasks 0 … n − 1, each on the first free thread, and returns when all are done. */
void workers_tasks(struct workers *w, int64_t n, workers_task task, void *arg);

#endif
