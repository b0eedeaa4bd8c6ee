/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The products of rocBLAS, which write to a fourth matrix: the double computes them in place, as
 * cuBLAS's. Its other functions are those of cuBLAS's double under their names in
 * backends/hip/rocblas.h.
 */
#include "cublas.h"

rocblas_status rocblas_gemm_ex(rocblas_handle handle, rocblas_operation trans_a,
                               rocblas_operation trans_b, int m, int n, int k, const void *alpha,
                               const void *a, rocblas_datatype a_type, int lda, const void *b,
                               rocblas_datatype b_type, int ldb, const void *beta, const void *c,
                               rocblas_datatype c_type, int ldc, void *d, rocblas_datatype d_type,
                               int ldd, rocblas_datatype compute, rocblas_gemm_algo algorithm,
                               int32_t solution, uint32_t flags)
{
    if (c != d || c_type != d_type || ldc != ldd || solution || flags)
        return refuse("rocblas_gemm_ex", "another matrix than the third, or flags");
    return cublasGemmEx(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
                        beta, d, d_type, ldd, compute, algorithm);
}

rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation trans_a, rocblas_operation trans_b, int m, int n,
    int k, const void *alpha, const void *a, rocblas_datatype a_type, int lda, int64_t stride_a,
    const void *b, rocblas_datatype b_type, int ldb, int64_t stride_b, const void *beta,
    const void *c, rocblas_datatype c_type, int ldc, int64_t stride_c, void *d,
    rocblas_datatype d_type, int ldd, int64_t stride_d, int batch, rocblas_datatype compute,
    rocblas_gemm_algo algorithm, int32_t solution, uint32_t flags)
{
    if (c != d || c_type != d_type || ldc != ldd || stride_c != stride_d || solution || flags)
        return refuse("rocblas_gemm_strided_batched_ex", "another matrix than the third, or flags");
    return cublasGemmStridedBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda,
                                      stride_a, b, b_type, ldb, stride_b, beta, d, d_type, ldd,
                                      stride_d, batch, compute, algorithm);
}
