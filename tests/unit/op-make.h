/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_OP_MAKE_H
#define FERRY_TEST_OP_MAKE_H

#include <ferry/op.h>

/*
 * Valid random operations: a kind, difficult shapes (1, odd, empty), any strides (row-major,
 * channels-last, slices), parameters, an epilogue.
 */

/* Pseudo-random numbers of a seed; their quality does not matter. */
struct om_numbers {
    uint64_t state;
};

/* In 0 … below − 1. */
int64_t om_pick(struct om_numbers *n, int64_t below);
/* The value of the environment variable, or the default. */
uint64_t om_number_of(const char *name, uint64_t usual);
/* In [-1, 1), for sums with small rounding errors. */
double om_value(struct om_numbers *n);

/* The kinds that om_make supports, and their number. */
extern const uint32_t om_kinds[];
extern const int om_kind_count;

/* One operation of that kind; `epilogue` nonzero: possibly with one. Passes ferry_op_desc_check. */
void om_make(struct om_numbers *n, uint32_t kind, int epilogue, ferry_op_desc *out);

/* Changes F32 operands to that dtype; indices, masks and copies are unchanged. */
void om_halve(ferry_op_desc *op, ferry_dtype half);

/* The permitted distance of a result from the oracle's, relative to the largest one. */
double om_tolerance(const ferry_op_desc *op);

/* The scalars of an UPDATE, FERRY_UPDATE_SCALARS of them. */
extern const double om_scalars[];

/* The operation as one line, for reports; static storage. */
const char *om_text(const ferry_op_desc *op);

#endif
