/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations with integers, run by a plugin's table and compared with the reference (op-rig.h). */
#ifndef INTEGER_CASES_H
#define INTEGER_CASES_H

#include "op-rig.h"

/* The cases; the first integer_product_count of them are products. */
extern const ferry_test_case integer_cases[];
extern const size_t integer_case_count, integer_product_count;

/* Adds an operand of whole numbers of the dtype's range, its ends among them. */
void integer_in(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape);
/* Adds any epilogue whose steps are exact in F32. */
void integer_steps(struct rig *r);

#endif
