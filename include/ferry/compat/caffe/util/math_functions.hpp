/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/math_functions.hpp
 * Caffe's arithmetic on plain arrays: matrix products on ferry's device "cpu", the rest by loops,
 * random numbers from the thread's generator (Caffe::rng_stream); and those caffe_gpu_… functions
 * that are BLAS functions, on the device of mode GPU. See ferry/caffe.hpp, ferry/math.h.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_MATH_FUNCTIONS_HPP
#define FERRY_COMPAT_CAFFE_UTIL_MATH_FUNCTIONS_HPP

#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/util/mkl_alternate.hpp>
#include <ferry/compat/caffe/util/rng.hpp>
#include <ferry/math.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace caffe
{

namespace detail
{

/** The queue of host memory. */
inline ferry_queue *host_queue()
{
    ferry_device *cpu = nullptr;

    checked(ferry_runtime_get_device(runtime(), "cpu", &cpu));
    return checked(ferry_device_queue(cpu));
}
/** The queue of the mode's device. */
inline ferry_queue *mode_queue()
{
    return checked(ferry_device_queue(Caffe::device()));
}
inline ferry_cref at(const void *pointer)
{
    const ferry_cref ref = { pointer, 0 };

    return ref;
}
inline ferry_ref at(void *pointer)
{
    const ferry_ref ref = { pointer, 0 };

    return ref;
}

template <typename Dtype>
void gemm(ferry_queue *q, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, int m, int n, int k,
          Dtype alpha, const Dtype *a, const Dtype *b, Dtype beta, Dtype *c)
{
    checked(ferry_math_gemm(q, dtype_of<Dtype>::value, static_cast<int>(trans_a),
                            static_cast<int>(trans_b), m, n, k, static_cast<double>(alpha),
                            at(static_cast<const void *>(a)), trans_a == CblasNoTrans ? k : m,
                            at(static_cast<const void *>(b)), trans_b == CblasNoTrans ? n : k,
                            static_cast<double>(beta), at(static_cast<void *>(c)), n));
}
template <typename Dtype>
void gemv(ferry_queue *q, CBLAS_TRANSPOSE trans, int m, int n, Dtype alpha, const Dtype *a,
          const Dtype *x, Dtype beta, Dtype *y)
{
    checked(ferry_math_gemv(q, dtype_of<Dtype>::value, static_cast<int>(trans), m, n,
                            static_cast<double>(alpha), at(static_cast<const void *>(a)), n,
                            at(static_cast<const void *>(x)), 1, static_cast<double>(beta),
                            at(static_cast<void *>(y)), 1));
}

} // namespace detail

/* ---- products ---- */

/** C = alpha·op(A)·op(B) + beta·C, C being M × N, op(A) M × K, op(B) K × N. */
template <typename Dtype>
void caffe_cpu_gemm(CBLAS_TRANSPOSE TransA, CBLAS_TRANSPOSE TransB, int M, int N, int K,
                    Dtype alpha, const Dtype *A, const Dtype *B, Dtype beta, Dtype *C)
{
    detail::gemm(detail::host_queue(), TransA, TransB, M, N, K, alpha, A, B, beta, C);
    detail::checked(ferry_queue_synchronize(detail::host_queue()));
}
/** y = alpha·op(A)·x + beta·y, A being M × N. */
template <typename Dtype>
void caffe_cpu_gemv(CBLAS_TRANSPOSE TransA, int M, int N, Dtype alpha, const Dtype *A,
                    const Dtype *x, Dtype beta, Dtype *y)
{
    detail::gemv(detail::host_queue(), TransA, M, N, alpha, A, x, beta, y);
    detail::checked(ferry_queue_synchronize(detail::host_queue()));
}
template <typename Dtype>
Dtype caffe_cpu_strided_dot(int n, const Dtype *x, int incx, const Dtype *y, int incy)
{
    Dtype sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i * incx] * y[i * incy];
    return sum;
}
template <typename Dtype> Dtype caffe_cpu_dot(int n, const Dtype *x, const Dtype *y)
{
    return caffe_cpu_strided_dot(n, x, 1, y, 1);
}
/** The sum of absolute values. */
template <typename Dtype> Dtype caffe_cpu_asum(int n, const Dtype *x)
{
    Dtype sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] < 0 ? -x[i] : x[i];
    return sum;
}

/* ---- setting and copying ---- */

/** From host memory to host memory; the ranges may overlap. (Between devices: caffe_gpu_memcpy.) */
template <typename Dtype> void caffe_copy(int N, const Dtype *X, Dtype *Y)
{
    if (X != Y && N > 0)
        std::memmove(Y, X, static_cast<size_t>(N) * sizeof(Dtype));
}
template <typename Dtype> void caffe_set(int N, Dtype alpha, Dtype *X)
{
    std::fill_n(X, N, alpha);
}
inline void caffe_memset(size_t N, int alpha, void *X)
{
    std::memset(X, alpha, N);
}

/* ---- element-wise functions ---- */

/** Y += alpha·X. */
template <typename Dtype> void caffe_axpy(int N, Dtype alpha, const Dtype *X, Dtype *Y)
{
    for (int i = 0; i < N; i++)
        Y[i] += alpha * X[i];
}
/** Y = alpha·X + beta·Y. */
template <typename Dtype>
void caffe_cpu_axpby(int N, Dtype alpha, const Dtype *X, Dtype beta, Dtype *Y)
{
    for (int i = 0; i < N; i++)
        Y[i] = alpha * X[i] + beta * Y[i];
}
template <typename Dtype> void caffe_add_scalar(int N, Dtype alpha, Dtype *X)
{
    for (int i = 0; i < N; i++)
        X[i] += alpha;
}
template <typename Dtype> void caffe_scal(int N, Dtype alpha, Dtype *X)
{
    for (int i = 0; i < N; i++)
        X[i] *= alpha;
}
/** y = alpha·x. */
template <typename Dtype> void caffe_cpu_scale(int n, Dtype alpha, const Dtype *x, Dtype *y)
{
    for (int i = 0; i < n; i++)
        y[i] = alpha * x[i];
}

/* Functions of one array a, and of two arrays a and b, into y. */
#define FERRY_CAFFE_UNARY(name, expression)                              \
    template <typename Dtype> void name(int n, const Dtype *a, Dtype *y) \
    {                                                                    \
        for (int i = 0; i < n; i++)                                      \
            y[i] = static_cast<Dtype>(expression);                       \
    }
#define FERRY_CAFFE_BINARY(name, expression)                                             \
    template <typename Dtype> void name(int n, const Dtype *a, const Dtype *b, Dtype *y) \
    {                                                                                    \
        for (int i = 0; i < n; i++)                                                      \
            y[i] = expression;                                                           \
    }
FERRY_CAFFE_BINARY(caffe_add, a[i] + b[i])
FERRY_CAFFE_BINARY(caffe_sub, a[i] - b[i])
FERRY_CAFFE_BINARY(caffe_mul, a[i] * b[i])
FERRY_CAFFE_BINARY(caffe_div, a[i] / b[i])
FERRY_CAFFE_UNARY(caffe_sqr, a[i] * a[i])
FERRY_CAFFE_UNARY(caffe_sqrt, std::sqrt(a[i]))
FERRY_CAFFE_UNARY(caffe_exp, std::exp(a[i]))
FERRY_CAFFE_UNARY(caffe_log, std::log(a[i]))
FERRY_CAFFE_UNARY(caffe_abs, std::fabs(a[i]))
FERRY_CAFFE_UNARY(caffe_cpu_fabs, std::fabs(a[i]))
/* The sign, 1, 0 or −1; and the sign bit, 1 or 0. */
FERRY_CAFFE_UNARY(caffe_cpu_sign, (Dtype(0) < a[i]) - (a[i] < Dtype(0)))
FERRY_CAFFE_UNARY(caffe_cpu_sgnbit, (std::signbit)(a[i]))
#undef FERRY_CAFFE_UNARY
#undef FERRY_CAFFE_BINARY

template <typename Dtype> void caffe_powx(int n, const Dtype *a, Dtype b, Dtype *y)
{
    for (int i = 0; i < n; i++)
        y[i] = std::pow(a[i], b);
}
template <typename Dtype> int8_t caffe_sign(Dtype val)
{
    return static_cast<int8_t>((Dtype(0) < val) - (val < Dtype(0)));
}

/* ---- random numbers ---- */

inline unsigned int caffe_rng_rand()
{
    return static_cast<unsigned int>((*caffe_rng())());
}
/** The next representable number upwards. */
template <typename Dtype> Dtype caffe_nextafter(Dtype b)
{
    return std::nextafter(b, std::numeric_limits<Dtype>::max());
}
/** Uniform random numbers from a to b. */
template <typename Dtype> void caffe_rng_uniform(int n, Dtype a, Dtype b, Dtype *r)
{
    detail::Uniform<Dtype> uniform(a, caffe_nextafter(b));

    CHECK_GE(n, 0);
    CHECK_LE(a, b);
    for (int i = 0; i < n; i++)
        r[i] = std::min(uniform(*caffe_rng()), b);
}
template <typename Dtype> void caffe_rng_gaussian(int n, Dtype mu, Dtype sigma, Dtype *r)
{
    detail::Normal<Dtype> normal(mu, sigma);

    CHECK_GE(n, 0);
    CHECK_GT(sigma, 0);
    for (int i = 0; i < n; i++)
        r[i] = normal(*caffe_rng());
}
namespace detail
{
template <typename Dtype, typename Int> void bernoulli(int n, Dtype p, Int *r)
{
    Bernoulli<Dtype> one(p);

    CHECK_GE(n, 0);
    CHECK_GE(p, 0);
    CHECK_LE(p, 1);
    for (int i = 0; i < n; i++)
        r[i] = one(*caffe_rng()) ? 1 : 0;
}
} // namespace detail
/** Random numbers: 1 with probability p, otherwise 0. */
template <typename Dtype> void caffe_rng_bernoulli(int n, Dtype p, int *r)
{
    detail::bernoulli(n, p, r);
}
template <typename Dtype> void caffe_rng_bernoulli(int n, Dtype p, unsigned int *r)
{
    detail::bernoulli(n, p, r);
}

/* ---- on the mode's device ---- */

#ifndef CPU_ONLY

template <typename Dtype>
void caffe_gpu_gemm(CBLAS_TRANSPOSE TransA, CBLAS_TRANSPOSE TransB, int M, int N, int K,
                    Dtype alpha, const Dtype *A, const Dtype *B, Dtype beta, Dtype *C)
{
    detail::gemm(detail::mode_queue(), TransA, TransB, M, N, K, alpha, A, B, beta, C);
}
template <typename Dtype>
void caffe_gpu_gemv(CBLAS_TRANSPOSE TransA, int M, int N, Dtype alpha, const Dtype *A,
                    const Dtype *x, Dtype beta, Dtype *y)
{
    detail::gemv(detail::mode_queue(), TransA, M, N, alpha, A, x, beta, y);
}
template <typename Dtype> void caffe_gpu_axpy(int N, Dtype alpha, const Dtype *X, Dtype *Y)
{
    detail::checked(ferry_math_axpy(
        detail::mode_queue(), detail::dtype_of<Dtype>::value, N, static_cast<double>(alpha),
        detail::at(static_cast<const void *>(X)), detail::at(static_cast<void *>(Y))));
}
template <typename Dtype> void caffe_gpu_scal(int N, Dtype alpha, Dtype *X)
{
    detail::checked(ferry_math_scal(detail::mode_queue(), detail::dtype_of<Dtype>::value, N,
                                    static_cast<double>(alpha),
                                    detail::at(static_cast<void *>(X))));
}
template <typename Dtype>
void caffe_gpu_axpby(int N, Dtype alpha, const Dtype *X, Dtype beta, Dtype *Y)
{
    caffe_gpu_scal(N, beta, Y);
    caffe_gpu_axpy(N, alpha, X, Y);
}
/** Copies N bytes from device to device. */
inline void caffe_gpu_memcpy(size_t N, const void *X, void *Y)
{
    detail::checked(ferry_math_copy(detail::mode_queue(), FERRY_U8, static_cast<int64_t>(N),
                                    detail::at(X), detail::at(Y)));
}
template <typename Dtype> void caffe_gpu_set(int N, Dtype alpha, Dtype *X)
{
    detail::checked(ferry_math_fill(detail::mode_queue(), detail::dtype_of<Dtype>::value, N,
                                    static_cast<double>(alpha),
                                    detail::at(static_cast<void *>(X))));
}
inline void caffe_gpu_memset(size_t N, int alpha, void *X)
{
    detail::checked(ferry_math_fill(detail::mode_queue(), FERRY_U8, static_cast<int64_t>(N),
                                    static_cast<double>(alpha & 0xff), detail::at(X)));
}
template <typename Dtype> void caffe_gpu_scale(int n, Dtype alpha, const Dtype *x, Dtype *y)
{
    caffe_gpu_set(n, Dtype(0), y);
    caffe_gpu_axpy(n, alpha, x, y);
}
template <typename Dtype> void caffe_gpu_dot(int n, const Dtype *x, const Dtype *y, Dtype *out)
{
    double sum = 0;

    detail::checked(ferry_math_dot(detail::mode_queue(), detail::dtype_of<Dtype>::value, n,
                                   detail::at(static_cast<const void *>(x)),
                                   detail::at(static_cast<const void *>(y)), &sum));
    *out = static_cast<Dtype>(sum);
}
template <typename Dtype> void caffe_gpu_asum(int n, const Dtype *x, Dtype *y)
{
    double sum = 0;

    detail::checked(ferry_math_asum(detail::mode_queue(), detail::dtype_of<Dtype>::value, n,
                                    detail::at(static_cast<const void *>(x)), &sum));
    *y = static_cast<Dtype>(sum);
}

#endif

} // namespace caffe

#endif
