/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_PEER_H
#define FERRY_BENCH_PEER_H

#include <stdio.h>
#include <sys/types.h>

/*
 * A program that computes on request, so that two of them can take turns: a line to its standard
 * input, a line of numbers from its standard output.
 */

struct bench_peer {
    pid_t pid; /* 0: it was not started, or has ended */
    FILE *to, *from;
};

/*
 * Starts argv[0] of PATH and waits for its first line, `numbers` numbers, when it is ready. 0, or
 * -1 if it ends before; it is then stopped.
 */
int bench_peer_start(struct bench_peer *p, const char *const *argv, double *out, int numbers);
/* Sends a line and reads `numbers` numbers; 0 or -1. */
int bench_peer_ask(struct bench_peer *p, const char *line, double *out, int numbers);
/* Ends its input and waits for its end. */
void bench_peer_stop(struct bench_peer *p);
/* Runs a program to its end, its output on standard error. 0, or -1 if it fails. */
int bench_peer_finish(const char *const *argv);

#endif
