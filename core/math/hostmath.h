/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arithmetic on plain host pointers, for data that is not on a device and for operations that a
 * plugin does not offer. Correct and robust rather than fast; one thread; any thread.
 *
 * n ≥ 0. Pointers are aligned to their element and may be NULL where n is 0. Arithmetic on integer
 * dtypes is FERRY_EUNSUPPORTED. F16 and BF16 are computed in F32 or wider, sums in F64. No error is
 * recorded here: the caller records it, since it knows the operation.
 */
#ifndef FERRY_CORE_HOSTMATH_H
#define FERRY_CORE_HOSTMATH_H

#include <ferry/status.h>
#include <ferry/types.h>

/* y += alpha·x; x may be y. With alpha 0, y stays unchanged even if x contains NaN, as in BLAS. */
int ferry__host_axpy(ferry_dtype t, int64_t n, double alpha, const void *x, void *y);
/* x *= alpha; NaN and Inf times 0 are NaN. */
int ferry__host_scal(ferry_dtype t, int64_t n, double alpha, void *x);
/*
 * y = value, any dtype, rounded to nearest even. FERRY_EOVERFLOW, and nothing written, where an
 * integer dtype cannot hold what value rounds to, or value is NaN.
 */
int ferry__host_fill(ferry_dtype t, int64_t n, double value, void *y);
/*
 * y = x for any dtypes, rounded once, to nearest even; integers saturate, and NaN becomes 0 in
 * integers. x and y do not overlap, unless the dtypes are equal.
 */
int ferry__host_convert(int64_t n, ferry_dtype xt, const void *x, ferry_dtype yt, void *y);
/* *out = the sum of x·y, of |x|, or of x². */
int ferry__host_dot(ferry_dtype t, int64_t n, const void *x, const void *y, double *out);
int ferry__host_asum(ferry_dtype t, int64_t n, const void *x, double *out);
int ferry__host_sumsq(ferry_dtype t, int64_t n, const void *x, double *out);
/*
 * Row-major y = alpha·op(A)·x + beta·y, A being m × n; trans is FERRY_NO_TRANS or FERRY_TRANS. A
 * vector with a negative increment starts at its last element in memory, as in BLAS. With beta 0, y
 * is not read; with alpha 0, A and x are not; with m or n 0 nothing is done.
 */
int ferry__host_gemv(ferry_dtype t, int trans, int64_t m, int64_t n, double alpha, const void *a,
                     int64_t lda, const void *x, int64_t incx, double beta, void *y, int64_t incy);
/*
 * Row-major C = alpha·op(A)·op(B) + beta·C, C being m × n, op(A) m × k, op(B) k × n. With beta 0, C
 * is not read; with alpha 0, A and B are not; with k 0 the result is beta·C; with m or n 0 nothing
 * is done.
 */
int ferry__host_gemm(ferry_dtype t, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                     const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                     int64_t ldc);
/* Element i of any dtype, as a double. I64 is rounded to nearest even. */
double ferry__host_load(ferry_dtype t, const void *p, int64_t i);

#endif
