/* SPDX-License-Identifier: BSD-2-Clause */
/* Each queue has one handle of cuBLAS, created at its first BLAS call. */
#include "cuda.h"

/*
 * Disables reduced-precision sums: by default cuBLAS may add partial sums of a product of F16 or
 * BF16 in that precision, which can overflow although the sum does not.
 */
static const cublasMath_t whole_sums = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

static int create(struct cuda_queue *queue)
{
    cublasHandle_t handle;
    cublasStatus_t status = cuda_blas.create(&handle);
    int err;

    if (status != CUBLAS_STATUS_SUCCESS)
        return cuda_fail_handle(status, queue->stream);
    status = cuda_blas.set_stream(handle, queue->stream);
    if (status != CUBLAS_STATUS_SUCCESS) {
        err = cuda_fail_blas(CALL(cublasSetStream), status, queue->stream);
        goto err_destroy;
    }
    status = cuda_blas.set_math_mode(handle, whole_sums);
    if (status != CUBLAS_STATUS_SUCCESS) {
        err = cuda_fail_blas(CALL(cublasSetMathMode), status, queue->stream);
        goto err_destroy;
    }
    queue->blas = handle;
    return 0;

err_destroy:
    (void)cuda_blas.destroy(handle);
    return err;
}

int cuda_blas_handle(struct cuda_queue *queue, cublasPointerMode_t mode, cublasHandle_t *out)
{
    cublasStatus_t status;
    int err = queue->blas ? 0 : create(queue);

    if (err)
        return err;
    status = cuda_blas.set_pointer_mode(queue->blas, mode);
    if (status != CUBLAS_STATUS_SUCCESS)
        return cuda_fail_blas(CALL(cublasSetPointerMode), status, queue->stream);
    *out = queue->blas;
    return 0;
}

int cuda_blas_begin(void *device, void *queue, uint32_t dtype, struct cuda_blas_call *out)
{
    struct cuda_device *dev = device;
    struct cuda_queue *on = cuda_queue_of(dev, queue);
    int err;

    if (dtype > FERRY_BF16)
        return FERRY_EUNSUPPORTED;
    out->dev = dev;
    out->stream = on->stream;
    err = cuda_enter_on(dev, queue, &out->scope);
    if (err)
        return err;
    err = cuda_blas_handle(on, CUBLAS_POINTER_MODE_HOST, &out->handle);
    if (err)
        cuda_leave(&out->scope);
    return err;
}

int cuda_blas_end(struct cuda_blas_call *call, const char *name, cublasStatus_t status)
{
    int err = status == CUBLAS_STATUS_SUCCESS ? 0 : cuda_fail_blas(name, status, call->stream);

    cuda_leave(&call->scope);
    if (!err)
        call->dev->counters.ops++;
    return err;
}
