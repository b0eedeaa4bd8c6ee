/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OP_REFERENCE_H
#define OP_REFERENCE_H

#include <ferry/op_types.h>

/*
 * What an operation computes, as plainly as can be: doubles, row-major without gaps, one element
 * after the other. in[] and out[] lie by their shapes alone; strides are not looked at. `own` inputs
 * are the kind's. Afterwards the first `steps` steps of the epilogue are applied to out[0].
 */
void reference_run(const ferry_op *op, uint32_t own, uint32_t steps, const double *const *in,
                   double *const *out, uint64_t seed, uint64_t offset);

#endif
