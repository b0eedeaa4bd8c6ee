/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const struct bench_suite bench_suites[] = {
    { "cuda", bench_cuda },
    { "cuda-kernels", bench_cuda_kernels },
    { NULL, NULL },
};
const char *const bench_backend = NULL;
