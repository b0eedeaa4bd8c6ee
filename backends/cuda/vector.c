/* SPDX-License-Identifier: BSD-2-Clause */
/* axpy and scal by cuBLAS, and the list of supported operations. */
#include "cuda.h"

static bool is_half(uint32_t dtype)
{
    return dtype == FERRY_F16 || dtype == FERRY_BF16;
}

static cudaDataType type_of(uint32_t dtype)
{
    return dtype == FERRY_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

/*
 * Whether the plugin offers an operation. Conversions need a kernel; without one, ferry's fallback
 * converts.
 */
int cuda_supports(void *dev, uint32_t op, uint32_t dtype)
{
    switch (op) {
    case FERRY_OP_COPY:
    case FERRY_OP_FILL:
        return cuda_element_size(dtype) != 0;
    case FERRY_OP_AXPY:
    case FERRY_OP_SCAL:
    case FERRY_OP_DOT:
    case FERRY_OP_ASUM:
    case FERRY_OP_SUMSQ:
    case FERRY_OP_GEMV:
    case FERRY_OP_GEMM:
        return dtype <= FERRY_BF16;
    case FERRY_OP_CONVERT:
        return cuda_element_size(dtype) != 0 && cuda_converts(dev);
    default:
        return 0;
    }
}

int cuda_supports_convert(void *dev, uint32_t x_dtype, uint32_t y_dtype)
{
    return cuda_element_size(x_dtype) != 0 && cuda_supports(dev, FERRY_OP_CONVERT, y_dtype);
}

static cublasStatus_t axpy(cublasHandle_t blas, uint32_t dtype, int n, double alpha, const void *x,
                           void *y)
{
    float a = (float)alpha;

    if (dtype == FERRY_F32)
        return cuda_blas.saxpy(blas, n, &a, x, 1, y, 1);
    if (dtype == FERRY_F64)
        return cuda_blas.daxpy(blas, n, &alpha, x, 1, y, 1);
    return cuda_blas.axpy_ex(blas, n, &a, CUDA_R_32F, x, type_of(dtype), 1, y, type_of(dtype), 1,
                             CUDA_R_32F);
}

int cuda_axpy(void *device, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
              ferry_ref y)
{
    struct cuda_blas_call call;
    int err = cuda_blas_begin(device, queue, dtype, &call);

    if (err)
        return err;
    return cuda_blas_end(&call, is_half(dtype) ? CALL(cublasAxpyEx) : CALL(cublasAxpy),
                         axpy(call.handle, dtype, (int)n, alpha, cuda_at_const(x), cuda_at(y)));
}

static cublasStatus_t scal(cublasHandle_t blas, uint32_t dtype, int n, double alpha, void *x)
{
    float a = (float)alpha;

    if (dtype == FERRY_F32)
        return cuda_blas.sscal(blas, n, &a, x, 1);
    if (dtype == FERRY_F64)
        return cuda_blas.dscal(blas, n, &alpha, x, 1);
    return cuda_blas.scal_ex(blas, n, &a, CUDA_R_32F, x, type_of(dtype), 1, CUDA_R_32F);
}

int cuda_scal(void *device, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    struct cuda_blas_call call;
    int err = cuda_blas_begin(device, queue, dtype, &call);

    if (err)
        return err;
    return cuda_blas_end(&call, is_half(dtype) ? CALL(cublasScalEx) : CALL(cublasScal),
                         scal(call.handle, dtype, (int)n, alpha, cuda_at(x)));
}
