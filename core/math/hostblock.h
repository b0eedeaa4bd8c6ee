/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversion of a few hundred elements of any dtype at a time, to and from the widest type of their
 * kind. hostmath.c uses it, so that each operation is written once and not once for each dtype.
 *
 * Elements are p[first], p[first + stride] …, n of them.
 */
#ifndef FERRY_CORE_HOSTBLOCK_H
#define FERRY_CORE_HOSTBLOCK_H

#include <ferry/types.h>

/* The maximum number of elements that a caller converts at a time. */
#define FERRY__BLOCK 256

/* Converts any dtype to doubles: exact, except that I64 is rounded. */
void ferry__block_load(ferry_dtype t, const void *p, int64_t first, int64_t stride, int n,
                       double *out);
/*
 * Converts doubles to any dtype: to nearest even; integers saturate, and NaN becomes 0 in integers.
 */
void ferry__block_store(ferry_dtype t, void *p, int64_t first, int64_t stride, int n,
                        const double *in);
/* Converts an integer dtype to int64_t, exactly. */
void ferry__block_load_integer(ferry_dtype t, const void *p, int64_t first, int n, int64_t *out);
/* Converts int64_t to any dtype: to nearest even; integers saturate. */
void ferry__block_store_integer(ferry_dtype t, void *p, int64_t first, int n, const int64_t *in);

#endif
