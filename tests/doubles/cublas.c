/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The double of cuBLAS: the arguments of a call are checked when it is made; plain loops compute it
 * later on the stream.
 */
#include "cublas.h"

#include "control.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC 0x63756264u

struct cublasContext {
    unsigned magic;
    void *context;
    cudaStream_t stream;
    cublasPointerMode_t mode;
    cublasMath_t math;
};

cublasStatus_t refuse(const char *call, const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s: %s", call, what);
    ferry_cuda_double_misuse(text);
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* The status for an error of the runtime. */
static cublasStatus_t status_of(int error)
{
    if (error > CUDA_DOUBLE_STATUS)
        return (cublasStatus_t)(error - CUDA_DOUBLE_STATUS);
    return error == cudaSuccess                       ? CUBLAS_STATUS_SUCCESS
           : error == cudaErrorMemoryAllocation       ? CUBLAS_STATUS_ALLOC_FAILED
           : error == cudaErrorNotSupported           ? CUBLAS_STATUS_NOT_SUPPORTED
           : error == cudaErrorInvalidValue           ? CUBLAS_STATUS_INVALID_VALUE
           : error == cudaErrorNoKernelImageForDevice ? CUBLAS_STATUS_ARCH_MISMATCH
                                                      : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t begin(const char *call, cublasHandle_t handle)
{
    if (!handle || handle->magic != MAGIC)
        return refuse(call, "no handle");
    return status_of(ferry_cuda_double_enter(call, &handle->context));
}

/* ---- handles ---- */

cublasStatus_t cublasCreate(cublasHandle_t *out)
{
    cublasHandle_t handle = calloc(1, sizeof(*handle));
    cublasStatus_t status;

    if (!handle)
        return CUBLAS_STATUS_ALLOC_FAILED;
    handle->magic = MAGIC;
    handle->math = CUBLAS_DEFAULT_MATH;
    status = begin("cublasCreate", handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        free(handle);
        /* the real library also allocates memory before it can report the status */
        return status == CUBLAS_STATUS_ALLOC_FAILED ? CUBLAS_STATUS_NOT_INITIALIZED : status;
    }
    ferry_cuda_double_handle(handle->context, 1);
    *out = handle;
    return status;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    cublasStatus_t status = begin("cublasDestroy", handle);

    if (status == CUBLAS_STATUS_INVALID_VALUE)
        return status;
    handle->magic = 0;
    ferry_cuda_double_handle(handle->context, -1);
    free(handle);
    return status;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    cublasStatus_t status = begin("cublasSetStream", handle);

    if (status == CUBLAS_STATUS_SUCCESS)
        handle->stream = stream;
    return status;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    if (!handle || handle->magic != MAGIC)
        return refuse("cublasSetPointerMode", "no handle");
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math)
{
    cublasStatus_t status = begin("cublasSetMathMode", handle);

    if (status == CUBLAS_STATUS_SUCCESS)
        handle->math = math;
    return status;
}

/*
 * Whether cuBLAS adds partial sums of a product in the type of the result, which it does by
 * default.
 */
bool adds_in_parts(cublasHandle_t handle)
{
    return handle->math != CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
}

/* ---- work ---- */

size_t size_of(cudaDataType type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

cublasStatus_t submit_work(const char *call, cublasHandle_t handle, const struct work *work,
                           const void *const addresses[3], const size_t sizes[3],
                           unsigned char *host_result)
{
    static const size_t places[3] = { offsetof(struct work, a), offsetof(struct work, b),
                                      offsetof(struct work, c) };
    struct ferry_cuda_double_operand operands[3];

    for (int i = 0; i < 3; i++) {
        operands[i].address = addresses[i];
        operands[i].size = sizes[i];
        operands[i].bytes = i == 2 ? host_result : NULL;
    }
    return status_of(ferry_cuda_double_submit(call, handle->context, handle->stream, work_run, work,
                                              sizeof(*work), operands, places, 3));
}

/* Loads a scalar from the host, which is where the plugin's are. */
cublasStatus_t scalar(const char *call, cublasHandle_t handle, const void *value, cudaDataType type,
                      double *out)
{
    if (handle->mode != CUBLAS_POINTER_MODE_HOST)
        return refuse(call, "scalars on the host, and the pointer mode is the device's");
    if (ferry_cuda_double_is_device(value))
        return refuse(call, "a scalar on the device, and the pointer mode is the host's");
    *out = type == CUDA_R_64F ? *(const double *)value : (double)*(const float *)value;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t vectors(const char *call, cublasHandle_t handle, enum operation operation,
                              cudaDataType type, int n, const void *alpha, cudaDataType alpha_type,
                              const void *x, void *y)
{
    struct work work = { .operation = operation, .type = type, .result = type, .n = n, .batch = 1 };
    const void *const addresses[3] = { x, NULL, y };
    size_t bytes = (size_t)n * size_of(type);
    const size_t sizes[3] = { x ? bytes : 0, 0, bytes };
    cublasStatus_t status = begin(call, handle);

    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalar(call, handle, alpha, alpha_type, &work.alpha);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    return submit_work(call, handle, &work, addresses, sizes, NULL);
}

/* The types of cublasAxpyEx and cublasScalEx for real numbers. */
static bool has_types(cudaDataType alpha, cudaDataType x, cudaDataType execution)
{
    cudaDataType wide = x == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;

    return (x == CUDA_R_16F || x == CUDA_R_16BF || x == CUDA_R_32F || x == CUDA_R_64F) &&
           alpha == wide && execution == wide;
}

cublasStatus_t cublasSaxpy(cublasHandle_t handle, int n, const float *alpha, const float *x,
                           int incx, float *y, int incy)
{
    if (incx != 1 || incy != 1)
        return refuse("cublasSaxpy", "increments");
    return vectors("cublasSaxpy", handle, AXPY, CUDA_R_32F, n, alpha, CUDA_R_32F, x, y);
}

cublasStatus_t cublasDaxpy(cublasHandle_t handle, int n, const double *alpha, const double *x,
                           int incx, double *y, int incy)
{
    if (incx != 1 || incy != 1)
        return refuse("cublasDaxpy", "increments");
    return vectors("cublasDaxpy", handle, AXPY, CUDA_R_64F, n, alpha, CUDA_R_64F, x, y);
}

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void *alpha,
                            cudaDataType alpha_type, const void *x, cudaDataType x_type, int incx,
                            void *y, cudaDataType y_type, int incy, cudaDataType execution)
{
    if (incx != 1 || incy != 1 || x_type != y_type || !has_types(alpha_type, x_type, execution))
        return refuse("cublasAxpyEx", "an unsupported combination of types");
    return vectors("cublasAxpyEx", handle, AXPY, x_type, n, alpha, alpha_type, x, y);
}

cublasStatus_t cublasSscal(cublasHandle_t handle, int n, const float *alpha, float *x, int incx)
{
    if (incx != 1)
        return refuse("cublasSscal", "an increment");
    return vectors("cublasSscal", handle, SCAL, CUDA_R_32F, n, alpha, CUDA_R_32F, NULL, x);
}

cublasStatus_t cublasDscal(cublasHandle_t handle, int n, const double *alpha, double *x, int incx)
{
    if (incx != 1)
        return refuse("cublasDscal", "an increment");
    return vectors("cublasDscal", handle, SCAL, CUDA_R_64F, n, alpha, CUDA_R_64F, NULL, x);
}

cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void *alpha,
                            cudaDataType alpha_type, void *x, cudaDataType type, int incx,
                            cudaDataType execution)
{
    if (incx != 1 || !has_types(alpha_type, type, execution))
        return refuse("cublasScalEx", "an unsupported combination of types");
    return vectors("cublasScalEx", handle, SCAL, type, n, alpha, alpha_type, NULL, x);
}

/* ---- reductions: to the device in queue order, or to the host at once ---- */

static cublasStatus_t reduce(const char *call, cublasHandle_t handle, enum operation operation,
                             cudaDataType type, int n, const void *x, const void *y, void *result)
{
    struct work work = { .operation = operation, .type = type, .result = type, .n = n, .batch = 1 };
    const void *const addresses[3] = { x, y, result };
    size_t bytes = (size_t)n * size_of(type);
    const size_t sizes[3] = { bytes, y ? bytes : 0, size_of(type) };
    bool host = handle && handle->mode == CUBLAS_POINTER_MODE_HOST;
    cublasStatus_t status = begin(call, handle);

    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (host && ferry_cuda_double_is_device(result))
        return refuse(call, "a result on the device, and the pointer mode is the host's");
    status = submit_work(call, handle, &work, addresses, sizes, host ? result : NULL);
    if (host && status == CUBLAS_STATUS_SUCCESS)
        ferry_cuda_double_wait(handle->stream, handle->context);
    return status;
}

cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float *x, int incx, const float *y,
                          int incy, float *result)
{
    if (incx != 1 || incy != 1)
        return refuse("cublasSdot", "increments");
    return reduce("cublasSdot", handle, DOT, CUDA_R_32F, n, x, y, result);
}

cublasStatus_t cublasDdot(cublasHandle_t handle, int n, const double *x, int incx, const double *y,
                          int incy, double *result)
{
    if (incx != 1 || incy != 1)
        return refuse("cublasDdot", "increments");
    return reduce("cublasDdot", handle, DOT, CUDA_R_64F, n, x, y, result);
}

cublasStatus_t cublasSasum(cublasHandle_t handle, int n, const float *x, int incx, float *result)
{
    if (incx != 1)
        return refuse("cublasSasum", "an increment");
    return reduce("cublasSasum", handle, ASUM, CUDA_R_32F, n, x, NULL, result);
}

cublasStatus_t cublasDasum(cublasHandle_t handle, int n, const double *x, int incx, double *result)
{
    if (incx != 1)
        return refuse("cublasDasum", "an increment");
    return reduce("cublasDasum", handle, ASUM, CUDA_R_64F, n, x, NULL, result);
}
