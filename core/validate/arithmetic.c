/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the arithmetic entries of plugin.h. */
#include "config.h"

#include "core/validate/track.h"

#include "core/base/dtype.h"

#include <stdint.h>

#define CHECKED(d, call) ferry__check_code(d, __func__, call)

static uint64_t vector_bytes(uint32_t dtype, int64_t n, int64_t step)
{
    uint64_t size = ferry_dtype_size((ferry_dtype)dtype);

    return n > 0 ? ((uint64_t)(n - 1) * (uint64_t)(step < 0 ? -step : step) + 1) * size : 0;
}

static uint64_t matrix_bytes(uint32_t dtype, int64_t rows, int64_t columns, int64_t ld)
{
    return rows > 0 && columns > 0 ? vector_bytes(dtype, (rows - 1) * ld + columns, 1) : 0;
}

static void check_n(struct ferry__tracked_device *d, const char *entry, int64_t n)
{
    if (n < 1 || n > INT64_C(1) << 30)
        ferry__broken(d, 44, entry, "%lld elements, must be 1 to 2^30", (long long)n);
}

/* Checks that a size or a stride of a product is `least` or more. */
static void check_size(struct ferry__tracked_device *d, const char *entry, const char *which,
                       int64_t given, int64_t least)
{
    if (given < least || given > INT32_MAX)
        ferry__broken(d, 44, entry, "%s is %lld, must be %lld to 2^31-1", which, (long long)given,
                      (long long)least);
}

/* Checks an increment, which may be negative. */
static void check_increment(struct ferry__tracked_device *d, const char *entry, const char *which,
                            int64_t given)
{
    if (given == 0 || given > INT32_MAX || given < -INT32_MAX)
        ferry__broken(d, 44, entry, "%s is %lld, must not be 0 or exceed 2^31-1", which,
                      (long long)given);
}

/* Checks that operands that must not overlap (rule 50) do not. */
static void check_apart(struct ferry__tracked_device *d, const char *entry, ferry_cref x,
                        uint64_t x_bytes, ferry_ref y, uint64_t y_bytes, bool may_equal)
{
    if (x.handle != y.handle || x.offset >= y.offset + y_bytes || y.offset >= x.offset + x_bytes ||
        (may_equal && x.offset == y.offset))
        return;
    ferry__broken(d, 50, entry, "operands that overlap");
}

/* Checks a vector that is read (NULL: none) and one that is written. */
static struct ferry__tracked_device *check_vectors(void *dev, const char *entry, void *queue,
                                                   const ferry_cref *x, uint64_t x_bytes,
                                                   ferry_ref y, uint64_t y_bytes, bool may_equal)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    ferry__check_submit(d, entry, queue);
    if (x) {
        check_apart(d, entry, *x, x_bytes, y, y_bytes, may_equal);
        ferry__check_access(d, entry, queue, *x, x_bytes, false);
    }
    ferry__check_access(d, entry, queue, ferry_ref_const(y), y_bytes, true);
    return d;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    uint64_t bytes = vector_bytes(dtype, n, 1);
    struct ferry__tracked_device *d = check_vectors(dev, "axpy", queue, &x, bytes, y, bytes, true);

    check_n(d, "axpy", n);
    return CHECKED(d, d->ops->axpy(dev, queue, dtype, n, alpha, x, y));
}

static int scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    struct ferry__tracked_device *d =
        check_vectors(dev, "scal", queue, NULL, 0, x, vector_bytes(dtype, n, 1), false);

    check_n(d, "scal", n);
    return CHECKED(d, d->ops->scal(dev, queue, dtype, n, alpha, x));
}

static int copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    uint64_t bytes = vector_bytes(dtype, n, 1);
    struct ferry__tracked_device *d = check_vectors(dev, "copy", queue, &x, bytes, y, bytes, false);

    check_n(d, "copy", n);
    return CHECKED(d, d->ops->copy(dev, queue, dtype, n, x, y));
}

static int fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y)
{
    struct ferry__tracked_device *d =
        check_vectors(dev, "fill", queue, NULL, 0, y, vector_bytes(dtype, n, 1), false);

    check_n(d, "fill", n);
    return CHECKED(d, d->ops->fill(dev, queue, dtype, n, value, y));
}

static int convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                   uint32_t y_dtype, ferry_ref y)
{
    struct ferry__tracked_device *d =
        check_vectors(dev, "convert", queue, &x, vector_bytes(x_dtype, n, 1), y,
                      vector_bytes(y_dtype, n, 1), false);

    check_n(d, "convert", n);
    return CHECKED(d, d->ops->convert(dev, queue, n, x_dtype, x, y_dtype, y));
}

static uint64_t result_bytes(uint32_t dtype)
{
    return dtype == FERRY_F64 ? 8 : 4;
}

static int dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
               ferry_ref result)
{
    uint64_t bytes = vector_bytes(dtype, n, 1);
    struct ferry__tracked_device *d =
        check_vectors(dev, "dot", queue, &x, bytes, result, result_bytes(dtype), false);

    check_n(d, "dot", n);
    ferry__check_access(d, "dot", queue, y, bytes, false);
    return CHECKED(d, d->ops->dot(dev, queue, dtype, n, x, y, result));
}

static int asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    struct ferry__tracked_device *d = check_vectors(
        dev, "asum", queue, &x, vector_bytes(dtype, n, 1), result, result_bytes(dtype), false);

    check_n(d, "asum", n);
    return CHECKED(d, d->ops->asum(dev, queue, dtype, n, x, result));
}

static int sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    struct ferry__tracked_device *d = check_vectors(
        dev, "sumsq", queue, &x, vector_bytes(dtype, n, 1), result, result_bytes(dtype), false);

    check_n(d, "sumsq", n);
    return CHECKED(d, d->ops->sumsq(dev, queue, dtype, n, x, result));
}

static int gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
                double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
                ferry_ref y, int64_t incy)
{
    bool turned = trans == FERRY_TRANS;
    struct ferry__tracked_device *d =
        check_vectors(dev, "gemv", queue, &x, vector_bytes(dtype, turned ? m : n, incx), y,
                      vector_bytes(dtype, turned ? n : m, incy), false);

    check_size(d, "gemv", "m", m, 1);
    check_size(d, "gemv", "n", n, 1);
    check_size(d, "gemv", "lda", lda, n);
    check_increment(d, "gemv", "incx", incx);
    check_increment(d, "gemv", "incy", incy);
    ferry__check_access(d, "gemv", queue, a, matrix_bytes(dtype, m, n, lda), false);
    return CHECKED(
        d, d->ops->gemv(dev, queue, dtype, trans, m, n, alpha, a, lda, x, incx, beta, y, incy));
}

static int gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    bool turned_a = trans_a == FERRY_TRANS, turned_b = trans_b == FERRY_TRANS;
    uint64_t a_bytes = matrix_bytes(dtype, turned_a ? k : m, turned_a ? m : k, lda);
    struct ferry__tracked_device *d =
        check_vectors(dev, "gemm", queue, &a, a_bytes, c, matrix_bytes(dtype, m, n, ldc), false);

    check_size(d, "gemm", "m", m, 1);
    check_size(d, "gemm", "n", n, 1);
    check_size(d, "gemm", "k", k, 1);
    check_size(d, "gemm", "lda", lda, turned_a ? m : k);
    check_size(d, "gemm", "ldb", ldb, turned_b ? k : n);
    check_size(d, "gemm", "ldc", ldc, n);
    ferry__check_access(d, "gemm", queue, b,
                        matrix_bytes(dtype, turned_b ? n : k, turned_b ? k : n, ldb), false);
    return CHECKED(d, d->ops->gemm(dev, queue, dtype, trans_a, trans_b, m, n, k, alpha, a, lda, b,
                                   ldb, beta, c, ldc));
}

void ferry__wrap_arithmetic(ferry_plugin_ops *ops)
{
    ops->axpy = axpy;
    ops->scal = scal;
    ops->copy = copy;
    ops->fill = fill;
    ops->convert = convert;
    ops->dot = dot;
    ops->asum = asum;
    ops->sumsq = sumsq;
    ops->gemv = gemv;
    ops->gemm = gemm;
}
