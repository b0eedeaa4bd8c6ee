/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* The suites that compare with other programs' runtimes, which are started beside this one. */
const struct bench_suite bench_suites[] = {
    { .name = "quantized", .run = bench_quantized },
    { .name = "bf16", .run = bench_bf16 },
    { .name = "training", .run = bench_training },
    { .name = "training-bf16", .run = bench_training_bf16 },
    { .name = "first-pass", .run = bench_first },
    { .name = NULL },
};
const char *const bench_backend = NULL;
