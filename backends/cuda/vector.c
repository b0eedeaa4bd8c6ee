/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Vectors: axpy and scal as cuBLAS has them, and which operations there are at all.
 */
#include "cuda.h"

static bool is_half(uint32_t dtype)
{
    return dtype == FERRY_F16 || dtype == FERRY_BF16;
}

static cudaDataType type_of(uint32_t dtype)
{
    return dtype == FERRY_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

/* What needs a kernel of its own (convert, asum of halves) is left to ferry's fallback. */
int cuda_supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev;
    switch (op) {
    case FERRY_OP_COPY:
    case FERRY_OP_FILL:
        return cuda_element_size(dtype) != 0;
    case FERRY_OP_ASUM:
        return dtype == FERRY_F32 || dtype == FERRY_F64;
    case FERRY_OP_AXPY:
    case FERRY_OP_SCAL:
    case FERRY_OP_DOT:
    case FERRY_OP_SUMSQ:
    case FERRY_OP_GEMV:
    case FERRY_OP_GEMM:
        return dtype <= FERRY_BF16;
    default:
        return 0;
    }
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
    struct cuda_device *dev = device;
    cublasStatus_t status;
    cublasHandle_t blas;
    struct cuda_scope scope;
    int err;

    if (dtype > FERRY_BF16)
        return FERRY_EUNSUPPORTED;
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    err = cuda_blas_handle(cuda_queue_of(dev, queue), CUBLAS_POINTER_MODE_HOST, &blas);
    if (!err) {
        status = axpy(blas, dtype, (int)n, alpha, cuda_at_const(x), cuda_at(y));
        if (status != CUBLAS_STATUS_SUCCESS)
            err = cuda_fail_blas(is_half(dtype) ? "cublasAxpyEx" : "cublasAxpy", status);
    }
    cuda_leave(&scope);
    if (!err)
        dev->counters.ops++;
    return err;
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
    struct cuda_device *dev = device;
    cublasStatus_t status;
    cublasHandle_t blas;
    struct cuda_scope scope;
    int err;

    if (dtype > FERRY_BF16)
        return FERRY_EUNSUPPORTED;
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    err = cuda_blas_handle(cuda_queue_of(dev, queue), CUBLAS_POINTER_MODE_HOST, &blas);
    if (!err) {
        status = scal(blas, dtype, (int)n, alpha, cuda_at(x));
        if (status != CUBLAS_STATUS_SUCCESS)
            err = cuda_fail_blas(is_half(dtype) ? "cublasScalEx" : "cublasScal", status);
    }
    cuda_leave(&scope);
    if (!err)
        dev->counters.ops++;
    return err;
}
