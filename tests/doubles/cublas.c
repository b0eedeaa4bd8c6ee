/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The double of cuBLAS: what each call is given is checked when it is made, and computed on the
 * stream later, by plain loops.
 */
#include "cublas.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC 0x63756264u

struct cublasContext {
    unsigned magic;
    void *context;
    cudaStream_t stream;
    cublasPointerMode_t mode;
};

static cublasStatus_t refuse(const char *call, const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s: %s", call, what);
    ferry_cuda_double_misuse(text);
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* The status that stands for a failure of the runtime below. */
static cublasStatus_t status_of(int error)
{
    return error == cudaSuccess                 ? CUBLAS_STATUS_SUCCESS
           : error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
           : error == cudaErrorNotSupported     ? CUBLAS_STATUS_NOT_SUPPORTED
           : error == cudaErrorInvalidValue     ? CUBLAS_STATUS_INVALID_VALUE
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t begin(const char *call, cublasHandle_t handle)
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
    status = begin("cublasCreate", handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        free(handle);
        return status;
    }
    ferry_cuda_double_handle(1);
    *out = handle;
    return status;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    cublasStatus_t status = begin("cublasDestroy", handle);

    if (status == CUBLAS_STATUS_INVALID_VALUE)
        return status;
    handle->magic = 0;
    ferry_cuda_double_handle(-1);
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

/* ---- work ---- */

static size_t size_of(cudaDataType type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

static cublasStatus_t submit_work(const char *call, cublasHandle_t handle, const struct work *work,
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

/* A scalar of the host, which is where the plugin's are. */
static cublasStatus_t scalar(const char *call, cublasHandle_t handle, const void *value,
                             cudaDataType type, double *out)
{
    if (handle->mode != CUBLAS_POINTER_MODE_HOST)
        return refuse(call, "scalars of the host, and the pointer mode is the device's");
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
    if (incx != 1 || incy != 1 || x_type != y_type || alpha_type != CUDA_R_32F ||
        execution != CUDA_R_32F)
        return refuse("cublasAxpyEx", "a combination that it does not have");
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
    if (incx != 1 || alpha_type != CUDA_R_32F || execution != CUDA_R_32F)
        return refuse("cublasScalEx", "a combination that it does not have");
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

/* ---- matrices, by columns ---- */

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
    if (a_type != b_type || (c_type != a_type && c_type != CUDA_R_32F) ||
        (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC))
        return refuse("cublasGemmStridedBatchedEx", "a combination that it does not have");
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
    if (a_type != b_type || c_type != a_type || compute != CUBLAS_COMPUTE_32F)
        return refuse("cublasGemmEx", "a combination that it does not have");
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
