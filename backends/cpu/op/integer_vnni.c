/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"
#include "integer_winograd.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#define NAME(function) function##_vnni
#define TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")))
#define LANES          16
#define MOST_ROWS      14
#define HAVE_AVX512    1
#define HAVE_AVX2      1
#define HAVE_NEON      0
#define HAVE_VNNI      1
#include "vector.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_vnni = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_vnni = NULL;
#endif
