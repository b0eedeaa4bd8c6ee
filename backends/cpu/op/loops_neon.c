/* SPDX-License-Identifier: BSD-2-Clause */
#include "deconvolution.h"
#include "depthwise.h"
#include "dots.h"
#include "op.h"
#include "patches.h"
#include "rows.h"
#include "strassen.h"
#include "winograd.h"

#if defined(__aarch64__)
#define NAME(function) function##_neon
#define TARGET
#define LANES       4
#define MOST_ROWS   12
#define HAVE_AVX512 0
#define HAVE_AVX2   0
#define HAVE_NEON   1
#include "loops_impl.h"

const struct cpu_loops *const cpu_loops_neon = &NAME(loops);
#else
const struct cpu_loops *const cpu_loops_neon = NULL;
#endif
