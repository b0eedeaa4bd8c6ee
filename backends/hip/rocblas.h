/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of rocBLAS that the plugin uses, under cuBLAS's names, declared from its reference
 * (rocm.docs.amd.com/projects/rocBLAS), because its headers need not be installed. Their arguments
 * are cuBLAS's, but for products of mixed types, which write to a fourth matrix.
 */
#ifndef FERRY_HIP_ROCBLAS_H
#define FERRY_HIP_ROCBLAS_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>

typedef struct _rocblas_handle *rocblas_handle;

typedef enum {
    rocblas_status_success = 0,
    rocblas_status_invalid_handle = 1,
    rocblas_status_not_implemented = 2,
    rocblas_status_invalid_pointer = 3,
    rocblas_status_invalid_size = 4,
    rocblas_status_memory_error = 5,
    rocblas_status_internal_error = 6,
    rocblas_status_perf_degraded = 7,
    rocblas_status_invalid_value = 11,
    rocblas_status_excluded_from_build = 14,
    rocblas_status_arch_mismatch = 15
} rocblas_status;

typedef enum { rocblas_operation_none = 111, rocblas_operation_transpose = 112 } rocblas_operation;
typedef enum {
    rocblas_pointer_mode_host = 0,
    rocblas_pointer_mode_device = 1
} rocblas_pointer_mode;
/* Whether sums may be added by atomic operations, in any order. */
typedef enum { rocblas_atomics_not_allowed = 0, rocblas_atomics_allowed = 1 } rocblas_atomics_mode;
typedef enum { rocblas_gemm_algo_standard = 0 } rocblas_gemm_algo;
typedef enum {
    rocblas_datatype_f16_r = 150,
    rocblas_datatype_f32_r = 151,
    rocblas_datatype_f64_r = 152,
    rocblas_datatype_bf16_r = 168
} rocblas_datatype;

/* ---- under cuBLAS's names ---- */

#define cublasHandle_t              rocblas_handle
#define cublasContext               _rocblas_handle
#define cublasStatus_t              rocblas_status
#define cublasOperation_t           rocblas_operation
#define cublasPointerMode_t         rocblas_pointer_mode
#define cublasMath_t                rocblas_atomics_mode
#define cublasComputeType_t         rocblas_datatype
#define cublasGemmAlgo_t            rocblas_gemm_algo
#define cudaDataType                rocblas_datatype
#define CUDA_R_16F                  rocblas_datatype_f16_r
#define CUDA_R_16BF                 rocblas_datatype_bf16_r
#define CUDA_R_32F                  rocblas_datatype_f32_r
#define CUDA_R_64F                  rocblas_datatype_f64_r
#define CUBLAS_OP_N                 rocblas_operation_none
#define CUBLAS_OP_T                 rocblas_operation_transpose
#define CUBLAS_COMPUTE_32F          rocblas_datatype_f32_r
#define CUBLAS_COMPUTE_64F          rocblas_datatype_f64_r
#define CUBLAS_GEMM_DEFAULT         rocblas_gemm_algo_standard
#define CUBLAS_POINTER_MODE_HOST    rocblas_pointer_mode_host
#define CUBLAS_POINTER_MODE_DEVICE  rocblas_pointer_mode_device
#define CUBLAS_COMPUTE_32F_PEDANTIC rocblas_datatype_f32_r
#define CUBLAS_COMPUTE_64F_PEDANTIC rocblas_datatype_f64_r
#define CUBLAS_DEFAULT_MATH         rocblas_atomics_allowed
/* rocBLAS adds halves as floats in any case. */
#define CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION rocblas_atomics_not_allowed

#define CUBLAS_STATUS_SUCCESS          rocblas_status_success
#define CUBLAS_STATUS_NOT_INITIALIZED  rocblas_status_invalid_handle
#define CUBLAS_STATUS_ALLOC_FAILED     rocblas_status_memory_error
#define CUBLAS_STATUS_INVALID_VALUE    rocblas_status_invalid_value
#define CUBLAS_STATUS_ARCH_MISMATCH    rocblas_status_arch_mismatch
#define CUBLAS_STATUS_EXECUTION_FAILED rocblas_status_internal_error
#define CUBLAS_STATUS_NOT_SUPPORTED    rocblas_status_not_implemented
/* X(status, ferry's code), and whether a status may mean a lost device, as in nvidia.h. */
#define CUDA_BLAS_STATUSES(X)                                 \
    X(rocblas_status_invalid_handle, FERRY_EDEVICE)           \
    X(rocblas_status_not_implemented, FERRY_EUNSUPPORTED)     \
    X(rocblas_status_invalid_pointer, FERRY_EINVAL)           \
    X(rocblas_status_invalid_size, FERRY_EINVAL)              \
    X(rocblas_status_memory_error, FERRY_ENOMEM)              \
    X(rocblas_status_internal_error, FERRY_EDEVICE)           \
    X(rocblas_status_perf_degraded, FERRY_ENOMEM)             \
    X(rocblas_status_invalid_value, FERRY_EINVAL)             \
    X(rocblas_status_excluded_from_build, FERRY_EUNSUPPORTED) \
    X(rocblas_status_arch_mismatch, FERRY_EUNSUPPORTED)
#define CUDA_BLAS_IS_VAGUE(status) \
    ((status) == rocblas_status_internal_error || (status) == rocblas_status_invalid_handle)

#define cublasCreate         rocblas_create_handle
#define cublasDestroy        rocblas_destroy_handle
#define cublasSetStream      rocblas_set_stream
#define cublasSetPointerMode rocblas_set_pointer_mode
#define cublasSetMathMode    rocblas_set_atomics_mode
#define cublasSaxpy          rocblas_saxpy
#define cublasDaxpy          rocblas_daxpy
#define cublasAxpyEx         rocblas_axpy_ex
#define cublasSscal          rocblas_sscal
#define cublasDscal          rocblas_dscal
#define cublasScalEx         rocblas_scal_ex
#define cublasSdot           rocblas_sdot
#define cublasDdot           rocblas_ddot
#define cublasSasum          rocblas_sasum
#define cublasDasum          rocblas_dasum
#define cublasSgemv          rocblas_sgemv
#define cublasDgemv          rocblas_dgemv
#define cublasSgemm          rocblas_sgemm
#define cublasDgemm          rocblas_dgemm

/* For messages about either precision. */
#define cublasAxpy        rocblas_axpy
#define cublasScal        rocblas_scal
#define cublasDot         rocblas_dot
#define cublasAsum        rocblas_asum
#define cublasGemv        rocblas_gemv
#define CUDA_CALL_GEMM    "rocblas_gemm"
#define CUDA_CALL_GEMM_EX "rocblas_gemm_ex"
#define CUDA_CALL_BATCHED "rocblas_gemm_strided_batched_ex"

/* ---- declarations ---- */

rocblas_status rocblas_create_handle(rocblas_handle *out);
rocblas_status rocblas_destroy_handle(rocblas_handle handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream);
rocblas_status rocblas_set_pointer_mode(rocblas_handle handle, rocblas_pointer_mode mode);
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode);

#define ROCBLAS_PLAIN(letter, type)                                                                \
    rocblas_status rocblas_##letter##axpy(rocblas_handle handle, int n, const type *alpha,         \
                                          const type *x, int incx, type *y, int incy);             \
    rocblas_status rocblas_##letter##scal(rocblas_handle handle, int n, const type *alpha,         \
                                          type *x, int incx);                                      \
    rocblas_status rocblas_##letter##dot(rocblas_handle handle, int n, const type *x, int incx,    \
                                         const type *y, int incy, type *result);                   \
    rocblas_status rocblas_##letter##asum(rocblas_handle handle, int n, const type *x, int incx,   \
                                          type *result);                                           \
    rocblas_status rocblas_##letter##gemv(                                                         \
        rocblas_handle handle, rocblas_operation trans, int m, int n, const type *alpha,           \
        const type *a, int lda, const type *x, int incx, const type *beta, type *y, int incy);     \
    rocblas_status rocblas_##letter##gemm(                                                         \
        rocblas_handle handle, rocblas_operation trans_a, rocblas_operation trans_b, int m, int n, \
        int k, const type *alpha, const type *a, int lda, const type *b, int ldb,                  \
        const type *beta, type *c, int ldc)
ROCBLAS_PLAIN(s, float);
ROCBLAS_PLAIN(d, double);

rocblas_status rocblas_axpy_ex(rocblas_handle handle, int n, const void *alpha,
                               rocblas_datatype alpha_type, const void *x, rocblas_datatype x_type,
                               int incx, void *y, rocblas_datatype y_type, int incy,
                               rocblas_datatype execution);
rocblas_status rocblas_scal_ex(rocblas_handle handle, int n, const void *alpha,
                               rocblas_datatype alpha_type, void *x, rocblas_datatype x_type,
                               int incx, rocblas_datatype execution);
rocblas_status rocblas_gemm_ex(rocblas_handle handle, rocblas_operation trans_a,
                               rocblas_operation trans_b, int m, int n, int k, const void *alpha,
                               const void *a, rocblas_datatype a_type, int lda, const void *b,
                               rocblas_datatype b_type, int ldb, const void *beta, const void *c,
                               rocblas_datatype c_type, int ldc, void *d, rocblas_datatype d_type,
                               int ldd, rocblas_datatype compute, rocblas_gemm_algo algorithm,
                               int32_t solution, uint32_t flags);
rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation trans_a, rocblas_operation trans_b, int m, int n,
    int k, const void *alpha, const void *a, rocblas_datatype a_type, int lda, int64_t stride_a,
    const void *b, rocblas_datatype b_type, int ldb, int64_t stride_b, const void *beta,
    const void *c, rocblas_datatype c_type, int ldc, int64_t stride_c, void *d,
    rocblas_datatype d_type, int ldd, int64_t stride_d, int batch, rocblas_datatype compute,
    rocblas_gemm_algo algorithm, int32_t solution, uint32_t flags);

/* With cuBLAS's arguments (rocblas.c): the fourth matrix is the third. */
rocblas_status cublasGemmEx(rocblas_handle handle, rocblas_operation trans_a,
                            rocblas_operation trans_b, int m, int n, int k, const void *alpha,
                            const void *a, rocblas_datatype a_type, int lda, const void *b,
                            rocblas_datatype b_type, int ldb, const void *beta, void *c,
                            rocblas_datatype c_type, int ldc, rocblas_datatype compute,
                            rocblas_gemm_algo algorithm);
rocblas_status cublasGemmStridedBatchedEx(rocblas_handle handle, rocblas_operation trans_a,
                                          rocblas_operation trans_b, int m, int n, int k,
                                          const void *alpha, const void *a, rocblas_datatype a_type,
                                          int lda, long long stride_a, const void *b,
                                          rocblas_datatype b_type, int ldb, long long stride_b,
                                          const void *beta, void *c, rocblas_datatype c_type,
                                          int ldc, long long stride_c, int batch,
                                          rocblas_datatype compute, rocblas_gemm_algo algorithm);

#endif
