/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const struct bench_suite bench_suites[] = {
    { .name = "process", .run = bench_process }, /* first: it needs an idle machine */
    { .name = "blob", .run = bench_blob },
    { .name = "small", .run = bench_small },
    { .name = "io",
      .run = bench_io }, /* before math: a child's peak memory starts with this process's peak */
    { .name = "math", .run = bench_math },
    { .name = "coherence", .run = bench_coherence },
    { .name = "transfers", .run = bench_transfers },
    { .name = NULL },
};
const char *const bench_backend = "cpu";
