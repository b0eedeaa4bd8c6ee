/* SPDX-License-Identifier: BSD-2-Clause */
#include "deconvolution.h"
#include "depthwise.h"
#include "dots.h"
#include "op.h"
#include "patches.h"
#include "rows.h"
#include "strassen.h"
#include "winograd.h"

/* For any CPU of the architecture, since all common ones have vectors of 16 bytes. */
#define NAME(function) function##_portable
#define TARGET
#define LANES       4
#define MOST_ROWS   6
#define HAVE_AVX512 0
#define HAVE_AVX2   0
#define HAVE_NEON   0
#include "loops_impl.h"

const struct cpu_loops *const cpu_loops_portable = &NAME(loops);
