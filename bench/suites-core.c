/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* The suites inside the core: this program links the core's objects. */
const struct bench_suite bench_suites[] = {
    { .name = "pool", .run = bench_pool },
    { .name = NULL },
};
const char *const bench_backend = "cpu";
