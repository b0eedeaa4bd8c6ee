/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_REFERENCE_H
#define FERRY_TEST_REFERENCE_H

#include "arith.h"

#include <ferry/op_table.h>

#include <math.h>
#include <stdbool.h>

/*
 * The reference of prepared operations: one element of an output at a time, from the definitions of
 * <ferry/op_types.h>, in long double. It shares no code with the library, the kernels or a plugin.
 */

/* An operand in the host's memory. */
struct op_view {
    ferry_operand o;
    unsigned char *first; /* its first element */
};

struct op_scene {
    const ferry_op_desc *op;
    uint32_t own_in; /* inputs of the kind itself; those of the epilogue follow */
    const struct op_view *in, *out;
    const double *scalars; /* of UPDATE: FERRY_UPDATE_SCALARS of them */
    uint64_t seed, offset; /* of RANDOM */
};

/* The expected value of an element. Each of `roundings` may cost as much as one of `magnitude`. */
struct op_number {
    long double value, magnitude;
    double roundings; /* 0: exactly that */
};

/* ---- operands (view.c) ---------------------------------------------------------------------- */

int64_t op_count(const ferry_operand *o);
/* The next index in logical order; false past the last. */
bool op_next(const ferry_operand *o, int64_t *i);
/* As op_next, along the axes of `mask` only; the other indices stay. */
bool op_next_along(const ferry_operand *o, uint32_t mask, int64_t *i);
/*
 * The distance in elements from the first element to the one at i; the stride of an axis of one
 * element is not used.
 */
int64_t op_place(const ferry_operand *o, const int64_t *i);
long double op_get(const struct op_view *v, const int64_t *i);
/*
 * The element at that distance from the first. Inline, because long sums spend their time here and
 * in op_add.
 */
static inline long double op_at(const struct op_view *v, int64_t at)
{
    const void *first = v->first;

    if (v->o.dtype == FERRY_F64)
        return (long double)((const double *)first)[at];
    return v->o.dtype == FERRY_F32 ? (long double)((const float *)first)[at]
                                   : arith_get((ferry_dtype)v->o.dtype, first, at);
}
/* The element at the index of a larger operand: an axis of 1 is repeated. */
long double op_get_repeated(const struct op_view *v, const int64_t *i);
/* Inputs of the kind itself: no step of the epilogue names them. */
uint32_t op_own_inputs(const ferry_op_desc *op);

/* ---- every kind and pass -------------------------------------------------------------------- */

/* out[n] at index i, before the run. False: the reference lacks the kind. */
bool op_expect(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
void op_expect_convolution(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_im2col(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_col2im(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_pool(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
/* A backward pass, and those of kinds with a window; false: the reference lacks the kind. */
bool op_expect_backward(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_convolution_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_convolution_weights(const struct op_scene *s, const int64_t *i,
                                   struct op_number *out);
void op_expect_pool_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_resize(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_resize_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_roi_pool(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_scatter_add(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_random(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_update(const struct op_scene *s, uint32_t n, const int64_t *i,
                      struct op_number *out);
void op_set(struct op_number *out, long double value, long double magnitude, double roundings);
/* One more term of a sum. */
static inline void op_add(struct op_number *out, long double term)
{
    out->value += term;
    out->magnitude += fabsl(term);
    out->roundings++;
}

/*
 * The element of the image that kernel element k of the window at y covers; `shape` has the image's
 * spatial axes. False in the padding.
 */
bool op_covered(const ferry_op_window *w, const int64_t *shape, const int64_t *y, const int64_t *k,
                int64_t *x);

/* ---- unary functions, by number (unary.c) --------------------------------------------------- */

/* "RELU"; "unknown". */
const char *op_unary_name(uint32_t function);
/* a, b and c of each function's trials. */
extern const double op_unary_trials[FERRY_UNARY_COUNT][3];
/* function(x; a, b, c) and how sensitive it is. */
void op_unary(uint32_t function, long double x, double a, double b, double c,
              struct op_number *out);
/* The derivative of the function at r. */
long double op_unary_slope(uint32_t function, long double r, double a, double b, double c);

/* ---- as a table (table.c) ------------------------------------------------------------------- */

/*
 * The reference as a plugin's table, for tests that link unit/arith.c too: device and queue are
 * NULL, references are host pointers, and run returns when all outputs are written, each element
 * rounded once. Callable from any thread.
 */
extern const ferry_op_table reference_table;

#endif
