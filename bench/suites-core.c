/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* What is measured inside the core: this program has the core's own objects. */
const struct bench_suite bench_suites[] = {
    { .name = "pool", .run = bench_pool },
    { .name = NULL },
};
const char *const bench_backend = "cpu";
