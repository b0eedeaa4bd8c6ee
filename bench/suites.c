/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const struct bench_suite bench_suites[] = {
    { .name = "process", .run = bench_process }, /* first: it wants a machine at rest */
    { .name = "blob", .run = bench_blob },           { .name = "math", .run = bench_math },
    { .name = "coherence", .run = bench_coherence },
    { .name = "io", .run = bench_io },
    { .name = "transfers", .run = bench_transfers },
    { .name = NULL },
};
