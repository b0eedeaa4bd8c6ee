/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#define NAME(function) function##_avx2
#define TARGET         __attribute__((target("avx2,fma")))
#define LANES          8
#define MOST_ROWS      6
#define HAVE_AVX512    0
#define HAVE_AVX2      1
#define HAVE_NEON      0
#define HAVE_VNNI      0
#include "vector.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_avx2 = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_avx2 = NULL;
#endif
