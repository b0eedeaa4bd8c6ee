/* SPDX-License-Identifier: BSD-2-Clause */
#include "deconvolution.h"
#include "depthwise.h"
#include "dots.h"
#include "grouped.h"
#include "op.h"
#include "patches.h"
#include "rows.h"
#include "strassen.h"
#include "winograd.h"

#if defined(__x86_64__)
#define NAME(function) function##_avx512
#define TARGET         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define LANES          16
#define MOST_ROWS      14
#define HAVE_AVX512    1
#define HAVE_AVX2      1
#define HAVE_NEON      0
#include "loops_impl.h"

const struct cpu_loops *const cpu_loops_avx512 = &NAME(loops);
#else
const struct cpu_loops *const cpu_loops_avx512 = NULL;
#endif
