/* SPDX-License-Identifier: BSD-2-Clause */
/* The double of cuBLAS: matrices, column-major. */
#include "cublas.h"

#include <stdlib.h>

static size_t span(int rows, int columns, int ld, int64_t stride, int batch, cudaDataType type)
{
    size_t one = rows && columns ? (size_t)(columns - 1) * (size_t)ld + (size_t)rows : 0;

    return (one + (size_t)stride * (size_t)(batch - 1)) * size_of(type);
}

static cublasStatus_t product(const char *call, cublasHandle_t handle, struct work *work,
                              const void *alpha, const void *beta, const void *a, const void *b,
                              void *c)
{
    cudaDataType scalars = work->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
    int a_rows = work->trans_a ? work->k : work->m, b_rows = work->trans_b ? work->n : work->k;
    const void *const addresses[3] = { a, b, c };
    const size_t sizes[3] = {
        span(a_rows, work->m + work->k - a_rows, work->lda, work->stride_a, work->batch,
             work->type),
        span(b_rows, work->n + work->k - b_rows, work->ldb, work->stride_b, work->batch,
             work->type),
        span(work->m, work->n, work->ldc, work->stride_c, work->batch, work->result),
    };
    cublasStatus_t status = begin(call, handle);

    if (status == CUBLAS_STATUS_SUCCESS && (work->m < 0 || work->n < 0 || work->k < 0))
        status = refuse(call, "a negative number of rows or columns");
    if (status == CUBLAS_STATUS_SUCCESS &&
        (work->lda < (a_rows > 1 ? a_rows : 1) || work->ldb < (b_rows > 1 ? b_rows : 1) ||
         work->ldc < (work->m > 1 ? work->m : 1)))
        status = refuse(call, "leading dimensions that are too short");
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalar(call, handle, alpha, scalars, &work->alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalar(call, handle, beta, scalars, &work->beta);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    work->in_parts = adds_in_parts(handle);
    return submit_work(call, handle, work, addresses, sizes, NULL);
}

#define GEMM(name, type_of_element, data_type)                                                    \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, \
                        int n, int k, const type_of_element *alpha, const type_of_element *a,     \
                        int lda, const type_of_element *b, int ldb, const type_of_element *beta,  \
                        type_of_element *c, int ldc)                                              \
    {                                                                                             \
        struct work work = { .operation = GEMM_,                                                  \
                             .type = data_type,                                                   \
                             .result = data_type,                                                 \
                             .m = m,                                                              \
                             .n = n,                                                              \
                             .k = k,                                                              \
                             .lda = lda,                                                          \
                             .ldb = ldb,                                                          \
                             .ldc = ldc,                                                          \
                             .batch = 1,                                                          \
                             .trans_a = ta != CUBLAS_OP_N,                                        \
                             .trans_b = tb != CUBLAS_OP_N };                                      \
        return product(#name, handle, &work, alpha, beta, a, b, c);                               \
    }
GEMM(cublasSgemm, float, CUDA_R_32F)
GEMM(cublasDgemm, double, CUDA_R_64F)

/*
 * The types of cublasGemmEx and its strided variant for real floats accumulated as floats or
 * doubles.
 */
static bool has_types(cudaDataType ab, cudaDataType c, cublasComputeType_t compute)
{
    if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC)
        return ab == CUDA_R_64F && c == CUDA_R_64F;
    return (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC) &&
           (ab == CUDA_R_16F || ab == CUDA_R_16BF || ab == CUDA_R_32F) &&
           (c == ab || c == CUDA_R_32F);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType a_type,
                                          int lda, long long stride_a, const void *b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    struct work work = { .operation = GEMM_,
                         .type = a_type,
                         .result = c_type,
                         .m = m,
                         .n = n,
                         .k = k,
                         .lda = lda,
                         .ldb = ldb,
                         .ldc = ldc,
                         .batch = batch,
                         .stride_a = stride_a,
                         .stride_b = stride_b,
                         .stride_c = stride_c,
                         .trans_a = ta != CUBLAS_OP_N,
                         .trans_b = tb != CUBLAS_OP_N };

    (void)algorithm;
    if (a_type != b_type || !has_types(a_type, c_type, compute))
        return refuse("cublasGemmStridedBatchedEx", "an unsupported combination of types");
    return product("cublasGemmStridedBatchedEx", handle, &work, alpha, beta, a, b, c);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType a_type, int lda, const void *b, cudaDataType b_type,
                            int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    struct work work = { .operation = GEMM_,
                         .type = a_type,
                         .result = c_type,
                         .m = m,
                         .n = n,
                         .k = k,
                         .lda = lda,
                         .ldb = ldb,
                         .ldc = ldc,
                         .batch = 1,
                         .trans_a = ta != CUBLAS_OP_N,
                         .trans_b = tb != CUBLAS_OP_N };

    (void)algorithm;
    if (a_type != b_type || !has_types(a_type, c_type, compute))
        return refuse("cublasGemmEx", "an unsupported combination of types");
    return product("cublasGemmEx", handle, &work, alpha, beta, a, b, c);
}

static cublasStatus_t times_vector(const char *call, cublasHandle_t handle, struct work *work,
                                   const void *alpha, const void *a, const void *x,
                                   const void *beta, void *y)
{
    int in = work->trans_a ? work->m : work->n, out = work->trans_a ? work->n : work->m;
    int incx = abs(work->ldb), incy = abs(work->ldc);
    const void *const addresses[3] = { a, x, y };
    const size_t sizes[3] = { span(work->m, work->n, work->lda, 0, 1, work->type),
                              span(1, in, incx, 0, 1, work->type),
                              span(1, out, incy, 0, 1, work->type) };
    cublasStatus_t status = begin(call, handle);

    if (status == CUBLAS_STATUS_SUCCESS && (!incx || !incy))
        status = refuse(call, "an increment of 0");
    if (status == CUBLAS_STATUS_SUCCESS && work->lda < (work->m > 1 ? work->m : 1))
        status = refuse(call, "a leading dimension that is too short");
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalar(call, handle, alpha, work->type, &work->alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalar(call, handle, beta, work->type, &work->beta);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    return submit_work(call, handle, work, addresses, sizes, NULL);
}

#define GEMV(name, type_of_element, data_type)                                           \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, int m, int n,       \
                        const type_of_element *alpha, const type_of_element *a, int lda, \
                        const type_of_element *x, int incx, const type_of_element *beta, \
                        type_of_element *y, int incy)                                    \
    {                                                                                    \
        struct work work = { .operation = GEMV_,                                         \
                             .type = data_type,                                          \
                             .result = data_type,                                        \
                             .m = m,                                                     \
                             .n = n,                                                     \
                             .lda = lda,                                                 \
                             .ldb = incx,                                                \
                             .ldc = incy,                                                \
                             .batch = 1,                                                 \
                             .trans_a = ta != CUBLAS_OP_N };                             \
        return times_vector(#name, handle, &work, alpha, a, x, beta, y);                 \
    }
GEMV(cublasSgemv, float, CUDA_R_32F)
GEMV(cublasDgemv, double, CUDA_R_64F)
