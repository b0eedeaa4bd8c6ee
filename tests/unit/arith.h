/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_ARITH_H
#define FERRY_TEST_ARITH_H

#include <ferry/status.h>
#include <ferry/types.h>

#include <stddef.h>

/*
 * Tests of the arithmetic of every dtype against long double, on host pointers: the core's loops
 * and the CPU plugin run the same cases.
 */

struct arith {
    int (*axpy)(ferry_dtype t, int64_t n, double alpha, const void *x, void *y);
    int (*scal)(ferry_dtype t, int64_t n, double alpha, void *x);
    int (*fill)(ferry_dtype t, int64_t n, double value, void *y);
    int (*convert)(int64_t n, ferry_dtype xt, const void *x, ferry_dtype yt, void *y);
    int (*dot)(ferry_dtype t, int64_t n, const void *x, const void *y, double *out);
    int (*asum)(ferry_dtype t, int64_t n, const void *x, double *out);
    int (*sumsq)(ferry_dtype t, int64_t n, const void *x, double *out);
    int (*gemv)(ferry_dtype t, int trans, int64_t m, int64_t n, double alpha, const void *a,
                int64_t lda, const void *x, int64_t incx, double beta, void *y, int64_t incy);
    int (*gemm)(ferry_dtype t, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                int64_t ldc);
};

/* The implementation under test; set before the cases run. */
extern const struct arith *arith;

/* ---- a second opinion ----------------------------------------------------------------------- */

size_t arith_size(ferry_dtype t);
int arith_is_real(ferry_dtype t);
/* The distance between 1 and the next value: 2⁻²³ for F32. */
double arith_epsilon(ferry_dtype t);
/* Element i, exactly. */
long double arith_get(ferry_dtype t, const void *p, int64_t i);
/* Rounds a value to the dtype: to nearest even; integers saturate and NaN becomes 0. */
void arith_put(ferry_dtype t, void *p, int64_t i, long double value);
/* n elements between −range and range, the same for the same seed. */
void arith_random(ferry_dtype t, void *p, int64_t n, double range, unsigned seed);
/* |got − want| ≤ tolerance; NaN equals NaN, an infinity equals itself. */
int arith_near(long double got, long double want, long double tolerance);

/* ---- the cases ------------------------------------------------------------------------------ */

#define ARITH_CASES(X)                                 \
    X(axpy_is_right_at_every_size_and_offset)          \
    X(axpy_may_add_a_vector_to_itself)                 \
    X(axpy_by_0_leaves_y_alone)                        \
    X(axpy_keeps_nan_and_infinity)                     \
    X(scal_is_right_at_every_size_and_offset)          \
    X(scal_by_0_keeps_nan)                             \
    X(reductions_are_right_at_every_size_and_offset)   \
    X(reductions_of_single_precision_sum_in_double)    \
    X(reductions_keep_nan_and_infinity)                \
    X(integers_are_no_operands)                        \
    X(fill_rounds_to_the_dtype)                        \
    X(fill_is_right_at_every_size_and_offset)          \
    X(convert_rounds_once_between_all_dtypes)          \
    X(convert_keeps_every_integer_exact)               \
    X(convert_is_right_at_every_size_and_offset)       \
    X(half_precision_widens_exactly)                   \
    X(half_precision_rounds_the_middle_to_even)        \
    X(gemv_is_right_for_all_shapes_and_strides)        \
    X(gemv_by_beta_0_does_not_read_y)                  \
    X(gemm_is_right_for_all_shapes_and_transpositions) \
    X(gemm_by_beta_0_does_not_read_c)                  \
    X(gemm_by_alpha_0_does_not_read_a_and_b)

#define ARITH_DECLARE(name) void name(void);
ARITH_CASES(ARITH_DECLARE)

#endif
