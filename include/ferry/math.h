/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file math.h
 * BLAS on device references. Row-major, BLAS's argument order, int64_t sizes, double scalars, unit
 * strides except in gemv.
 *
 * Every function checks its arguments, enqueues its work on `q` and returns, except dot, asum and
 * sumsq, which wait and return a double. References belong to q's device; they stay in use until
 * the work is done. A size of 0 does nothing (reductions give 0), but its arguments are checked.
 * An operation that a plugin does not offer is computed on the host, counted in
 * ferry_device_stats.fallbacks and logged once, or fails with FERRY_EUNSUPPORTED under
 * FERRY_STRICT. F16 and BF16 accumulate in F32; dtypes must be floating except in copy, fill and
 * convert.
 *
 * Errors: FERRY_EINVAL (NULL queue, negative size, more than 2⁶⁰ − 1 elements, leading dimension
 * too small: a row has at least one element); a NULL reference
 * returns the code that produced it; FERRY_EUNSUPPORTED for integer arithmetic and for gemv and
 * gemm beyond INT32_MAX; FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED. After a failure the outputs are
 * partly written. Any thread; calls on one queue are serialised.
 */
#ifndef FERRY_MATH_H
#define FERRY_MATH_H

#include <ferry/queue.h>

FERRY_BEGIN_DECLS

/** Computes y += alpha·x for n elements. [caffe_axpy, caffe_gpu_axpy] */
FERRY_API int ferry_math_axpy(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                              ferry_cref x, ferry_ref y);
/** x *= alpha, n elements. alpha 0 follows BLAS's reference: NaN and Inf times 0 are NaN. */
FERRY_API int ferry_math_scal(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                              ferry_ref x);
/** y = x, n elements of any dtype, which must not overlap. */
FERRY_API int ferry_math_copy(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x,
                              ferry_ref y);
/**
 * Sets every element of y to value, rounded to the dtype; FERRY_EOVERFLOW if an integer dtype
 * cannot hold it.
 */
FERRY_API int ferry_math_fill(ferry_queue *q, ferry_dtype dtype, int64_t n, double value,
                              ferry_ref y);
/**
 * Converts x from one dtype to another: to nearest even; integers saturate, and NaN becomes 0 in
 * them. x and y must not overlap.
 */
FERRY_API int ferry_math_convert(ferry_queue *q, int64_t n, ferry_dtype x_dtype, ferry_cref x,
                                 ferry_dtype y_dtype, ferry_ref y);
/**
 * Sum of x·y; waits. The relative error of the reductions stays below 1e-6 at 2²⁸ elements of one
 * sign.
 */
FERRY_API int ferry_math_dot(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x,
                             ferry_cref y, double *out);
/** Sum of |x|; waits. */
FERRY_API int ferry_math_asum(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x,
                              double *out);
/** Sum of x²; waits. */
FERRY_API int ferry_math_sumsq(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x,
                               double *out);
/**
 * Computes y = alpha·op(A)·x + beta·y. A is m × n with lda ≥ n elements per row; trans
 * (FERRY_NO_TRANS, FERRY_TRANS) selects op; increments are not 0. As in BLAS, a vector with a
 * negative increment begins at its last element in memory. With beta 0, y is not read.
 */
FERRY_API int ferry_math_gemv(ferry_queue *q, ferry_dtype dtype, int trans, int64_t m, int64_t n,
                              double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx,
                              double beta, ferry_ref y, int64_t incy);
/**
 * Computes C = alpha·op(A)·op(B) + beta·C. C is m × n, op(A) m × k, op(B) k × n; leading dimensions
 * are elements per stored row. With beta 0, C is not read.
 */
FERRY_API int ferry_math_gemm(ferry_queue *q, ferry_dtype dtype, int trans_a, int trans_b,
                              int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a,
                              int64_t lda, ferry_cref b, int64_t ldb, double beta, ferry_ref c,
                              int64_t ldc);

FERRY_END_DECLS

#endif
