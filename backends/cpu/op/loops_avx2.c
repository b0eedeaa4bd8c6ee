/* SPDX-License-Identifier: BSD-2-Clause */
#include "deconvolution.h"
#include "depthwise.h"
#include "dots.h"
#include "op.h"
#include "patches.h"
#include "rows.h"
#include "strassen.h"
#include "winograd.h"

#if defined(__x86_64__)
#define NAME(function) function##_avx2
#define TARGET         __attribute__((target("avx2,fma,f16c")))
#define LANES          8
#define MOST_ROWS      6
#define HAVE_AVX512    0
#define HAVE_AVX2      1
#define HAVE_NEON      0
#include "loops_impl.h"

const struct cpu_loops *const cpu_loops_avx2 = &NAME(loops);
#else
const struct cpu_loops *const cpu_loops_avx2 = NULL;
#endif
