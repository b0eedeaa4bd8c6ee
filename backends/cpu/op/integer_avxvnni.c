/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"
#include "integer_winograd.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

#if CPU_INTEGER_HAS_AVXVNNI
#define NAME(function) function##_avxvnni
/*
 * The test plugin of tests/plugins/evex defines CPU_EVEX: AVX-512 has the same instruction with
 * another encoding, which processors without AVX-VNNI execute.
 */
#ifdef CPU_EVEX
#define TARGET       __attribute__((target("avx2,fma,avx512vl,avx512vnni")))
#define DOT_ENCODING "%{evex%} "
#else
#define TARGET       __attribute__((target("avx2,fma,avxvnni")))
#define DOT_ENCODING "%{vex%} "
#endif
#define LANES       8
#define MOST_ROWS   6
#define HAVE_AVX512 0
#define HAVE_AVX2   1
#define HAVE_NEON   0
#define HAVE_VNNI   1
#include "vector.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_avxvnni = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_avxvnni = NULL;
#endif
