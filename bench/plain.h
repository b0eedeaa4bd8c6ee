/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_PLAIN_H
#define FERRY_BENCH_PLAIN_H

#include <stdint.h>

/*
 * Arithmetic as a programmer would write it without a library: a plain loop on a number of threads,
 * for n floats in host memory, a multiple of 16.
 */

#define PLAIN_MOST_THREADS 8

void plain_axpy(int threads, int64_t n, float alpha, const float *x, float *y);
float plain_asum(int threads, int64_t n, const float *x);

#endif
