/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include <ferry/types.h>

#include <stddef.h>
#include <string.h>

/*
 * Products of pairs of BF16 in the form of products of bytes. VDPBF16PS adds both products of a
 * pair to a sum of floats, each with one rounding to nearest even, whatever MXCSR is; it treats
 * denormal operands and results as 0.
 */
#if defined(__x86_64__)
#define HAVE_VNNI 1
#define HAVE_BF16 1
#include "vector_bf16.h"

#include "integer_impl.h"

const struct cpu_integer_loops *const cpu_integer_bf16 = &NAME(integer_loops);
#else
const struct cpu_integer_loops *const cpu_integer_bf16 = NULL;
#endif
