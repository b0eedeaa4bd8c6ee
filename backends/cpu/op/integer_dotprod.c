/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

#if CPU_INTEGER_HAS_NEON
#define NAME(function) function##_dotprod
#define TARGET         __attribute__((target("arch=armv8.2-a+dotprod")))
#define LANES          4
#define MOST_ROWS      12
#define UNIT           4
#define HAVE_AVX512    0
#define HAVE_AVX2      0
#define HAVE_NEON      1
#define HAVE_VNNI      1
#define HAVE_I8MM      0
#include "vector.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_dotprod = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_dotprod = NULL;
#endif
