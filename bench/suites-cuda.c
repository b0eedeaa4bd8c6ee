/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const struct bench_suite bench_suites[] = {
    { "cuda", bench_cuda },
    { NULL, NULL },
};
