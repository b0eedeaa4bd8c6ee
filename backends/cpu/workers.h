/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A few threads that help with one large loop at a time; callers with a limit have several such
 * groups side by side, as many as the threads of the device divided by the limit.
 *
 * They start with the first loop that is large enough and sleep between loops. A caller who finds
 * them busy with another's loop, or who is a child of fork and has none, does its loop alone: the
 * result is the same, bit for bit, since the pieces are.
 */
#ifndef FERRY_CPU_WORKERS_H
#define FERRY_CPU_WORKERS_H

#include <stdint.h>

struct workers;

/* Does elements first … first + count − 1 of a loop; `piece` counts pieces from 0. */
typedef void (*workers_body)(void *arg, int64_t first, int64_t count, int64_t piece);

/* The most pieces that a loop is cut into. */
#define WORKERS_MAX_PIECES 256

#define WORKERS_MOST_THREADS 1024

/* As many threads as this process may run at a time. */
unsigned workers_allowed(void);

/* For loops on `threads` ≥ 1 threads, the caller's among them. NULL: out of memory. */
struct workers *workers_create(unsigned threads);
/* Ends the threads; no loop is running. NULL is accepted. */
void workers_destroy(struct workers *w);

/* The most threads that a loop may have, the caller's among them. */
unsigned workers_threads(const struct workers *w);
/* Limits the threads of the loops that the calling thread runs from now on; 0: no limit. */
void workers_limit(unsigned threads);

/*
 * How many elements there are to a piece of a loop over n; the whole loop where it is not worth
 * cutting. Depends on n and `bytes`, what an element costs to move, alone.
 */
int64_t workers_piece(int64_t n, int64_t bytes);
/* Runs the body over 0 … n − 1, in pieces of that size, and returns when all are done. */
void workers_run(struct workers *w, int64_t n, int64_t piece, workers_body body, void *arg);

/* Does one task of many; no two threads have the same `slot`, from 0 to workers_threads − 1. */
typedef void (*workers_task)(void *arg, int64_t task, unsigned slot);
/* Runs tasks 0 … n − 1, each on whichever thread comes first, and returns when all are done. */
void workers_tasks(struct workers *w, int64_t n, workers_task task, void *arg);

#endif
