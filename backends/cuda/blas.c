/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuBLAS has hundreds of megabytes, so it is loaded only when a device is opened. Each queue has
 * one handle, created at its first BLAS call.
 */
#include "cuda.h"

#include <dlfcn.h>

#define SONAME "libcublas.so." CUDA_TEXT(CUBLAS_VER_MAJOR)

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

static int load_locked(void)
{
    struct cuda_blas_table table = { 0 };
    void *library = cuda_library_open(SONAME, CUDA_PACKAGE);

    if (!library)
        return cuda_host->error(FERRY_ENODEV,
                                "%s; it is part of the CUDA toolkit: add its folder to "
                                "LD_LIBRARY_PATH or ldconfig",
                                dlerror());
        /* uses CUDA_TEXT because the headers define most of these names as macros */
#define LOAD(member, function)                                                         \
    *(void **)(void *)&table.member = dlsym(library, CUDA_TEXT(function));             \
    if (!table.member) {                                                               \
        dlclose(library);                                                              \
        return cuda_host->error(FERRY_EPLUGIN, SONAME " has no " CUDA_TEXT(function)); \
    }
    CUDA_BLAS_ENTRIES(LOAD)
#undef LOAD
    cuda_blas = table;
    loaded = true;
    return 0;
}

int cuda_blas_load(void)
{
    int err;

    pthread_mutex_lock(&load_lock);
    err = loaded ? 0 : load_locked();
    pthread_mutex_unlock(&load_lock);
    return err;
}

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
        err = cuda_fail_blas("cublasSetStream", status, queue->stream);
        goto err_destroy;
    }
    status = cuda_blas.set_math_mode(handle, whole_sums);
    if (status != CUBLAS_STATUS_SUCCESS) {
        err = cuda_fail_blas("cublasSetMathMode", status, queue->stream);
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
        return cuda_fail_blas("cublasSetPointerMode", status, queue->stream);
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
