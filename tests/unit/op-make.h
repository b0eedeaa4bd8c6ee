/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_OP_MAKE_H
#define FERRY_TEST_OP_MAKE_H

#include <ferry/op.h>

/*
 * Random operations that make sense: a kind, shapes that bite (1, odd ones, none at all), strides as
 * they come (row-major, channels-last, slices), parameters, an epilogue.
 */

/* Numbers of a seed; not good ones. */
struct om_numbers {
    uint64_t state;
};

/* In 0 … below − 1. */
int64_t om_pick(struct om_numbers *n, int64_t below);
/* What the environment says of that name, or what is usual. */
uint64_t om_number_of(const char *name, uint64_t usual);
/* In [-1, 1), to be added up without rounding too much. */
double om_value(struct om_numbers *n);

/* The kinds that om_make knows, and how many. */
extern const uint32_t om_kinds[];
extern const int om_kind_count;

/* One operation of that kind; `epilogue` nonzero: perhaps with one. Passes ferry_op_desc_check. */
void om_make(struct om_numbers *n, uint32_t kind, int epilogue, ferry_op_desc *out);

/* What computes in F32 computes in that dtype; indices, masks and copies stay as they are. */
void om_halve(ferry_op_desc *op, ferry_dtype half);

/* How far a result may be from the oracle's, relative to the largest one. */
double om_tolerance(const ferry_op_desc *op);

/* What an UPDATE is run with, FERRY_UPDATE_SCALARS of them. */
extern const double om_scalars[];

/* The operation in a line, for reports; static storage. */
const char *om_text(const ferry_op_desc *op);

#endif
