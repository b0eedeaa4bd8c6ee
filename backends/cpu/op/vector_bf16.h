/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vector.h for AVX512_BF16. Each file that uses the instruction set includes this once, after the
 * macros of its own.
 */
#define NAME(function) function##_bf16
#define TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")))
#define LANES       16
#define MOST_ROWS   14
#define HAVE_AVX512 1
#define HAVE_AVX2   1
#define HAVE_NEON   0
#include "vector.h"
