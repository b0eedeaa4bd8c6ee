/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* A program of its own: for `conv` it runs itself once for each instruction set. */
const struct bench_suite bench_suites[] = {
    { .name = "conv", .run = bench_conv },
    { .name = "op", .run = bench_op },
    { .name = NULL },
};
const char *const bench_backend = "cpu";
