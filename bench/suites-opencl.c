/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const struct bench_suite bench_suites[] = {
    { "opencl", bench_opencl },
    { "opencl-conv", bench_opencl_conv },
    { NULL, NULL },
};
const char *const bench_backend = "cpu";
