/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single elements of any dtype, as doubles. For plain loops; not fast.
 */
#ifndef FERRY_OP_ELEMENT_H
#define FERRY_OP_ELEMENT_H

#include <ferry/op_types.h>

/* Element `index`, counted from `base`. Integers beyond 2⁵³ lose their last bits. */
double ferry__element_get(uint32_t dtype, const void *base, int64_t index);

/* Rounds to nearest, ties to even; integers saturate, and NaN becomes 0 in them. */
void ferry__element_set(uint32_t dtype, void *base, int64_t index, double value);

#endif
