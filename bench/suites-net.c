/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

/* The suites of libferrynet. */
const struct bench_suite bench_suites[] = {
    { .name = "net", .run = bench_net },
    { .name = "train", .run = bench_train },
    { .name = "data", .run = bench_data },
    { .name = NULL },
};
const char *const bench_backend = "cpu";
