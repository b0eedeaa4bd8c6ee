/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations with integers, run by a plugin's table and compared with the reference (op-rig.h). */
#ifndef INTEGER_CASES_H
#define INTEGER_CASES_H

#include "ferry-test.h"

/* The cases; the first integer_product_count of them are products. */
extern const ferry_test_case integer_cases[];
extern const size_t integer_case_count, integer_product_count;

#endif
