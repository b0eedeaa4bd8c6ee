/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* A program of its own: it runs itself once for each instruction set. */
const struct bench_suite bench_suites[] = {
    { .name = "conv", .run = bench_conv },
    { .name = NULL },
};
