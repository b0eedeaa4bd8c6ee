/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

#if CPU_INTEGER_HAS_NEON
#define NAME(function) function##_i8mm
#define TARGET         __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))
#define LANES          4
#define MOST_ROWS      12
#define UNIT           2
#define HAVE_AVX512    0
#define HAVE_AVX2      0
#define HAVE_NEON      1
#define HAVE_VNNI      1
#define HAVE_I8MM      1
#include "vector.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_i8mm = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_i8mm = NULL;
#endif
