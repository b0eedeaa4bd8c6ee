/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches of kernels, and ferry's own vector arithmetic, one launch per operation. Without
 * kernels, cuBLAS and the driver do the arithmetic, and the host converts.
 */
#include "kernels.h"

#include "kernels/vector.h"

int cuda_launch(CUstream stream, CUfunction function, const struct kernel_launch *l,
                void *const base[BUFFERS], const union kernel_args *numbers)
{
    union kernel_args given = *numbers;
    void *pointers[BUFFERS], *params[BUFFERS + 1];
    CUresult failed;

    for (int i = 0; i < BUFFERS; i++) {
        pointers[i] = base[i];
        params[i] = &pointers[i];
    }
    params[BUFFERS] = &given;
    failed = cuda_driver.launch(function, (unsigned)l->groups, 1, 1, CUDA_GROUP, 1, 1, 0, stream,
                                params, NULL);
    return failed ? cuda_fail_driver(CALL(cuLaunchKernel), failed) : 0;
}

/* ---- sums ---- */

/*
 * The buffer of a queue for sums: the number of completed groups, followed by the sums of groups.
 */
static int sums_of(const struct kernel_target *target, struct cuda_queue *queue, char **out)
{
    size_t bytes = sizeof(uint64_t) + VECTOR_SUMS_BYTES(target);
    cudaError_t error;

    if (!queue->sums) {
        error = cudaMalloc((void **)&queue->sums, bytes);
        if (error != cudaSuccess) {
            queue->sums = NULL;
            return cuda_fail(CALL(cudaMalloc), error);
        }
        error = cudaMemsetAsync(queue->sums, 0, sizeof(uint64_t), queue->stream);
        if (error != cudaSuccess) {
            (void)cudaFree(queue->sums);
            queue->sums = NULL;
            return cuda_fail(CALL(cudaMemsetAsync), error);
        }
    }
    *out = queue->sums;
    return 0;
}

int cuda_vector_sum(struct cuda_device *dev, struct cuda_queue *queue, uint32_t op, uint32_t dtype,
                    int64_t n, const void *x, const void *y, void *result)
{
    const struct kernel_target *target = &dev->modules->target;
    void *base[BUFFERS] = { [VECTOR_X] = (void *)(uintptr_t)x,
                            [VECTOR_Y] = (void *)(uintptr_t)y,
                            [VECTOR_RESULT] = result };
    struct kernel_launch l;
    CUfunction function;
    char *sums = NULL;
    int err = cuda_modules_vector(dev->modules, KERNEL_VECTOR_SUM, &function);

    if (!err)
        err = sums_of(target, queue, &sums);
    if (err)
        return err;
    base[VECTOR_COME] = sums;
    base[VECTOR_SUMS] = sums + sizeof(uint64_t);
    kernel_vector_sum(target, op, dtype, n, &l);
    return cuda_launch((CUstream)queue->stream, function, &l, base, &l.args);
}

/* ---- fills ---- */

int cuda_vector_fill(struct cuda_device *dev, const struct cuda_queue *queue, uint64_t size,
                     uint64_t bits, int64_t n, void *y)
{
    void *const base[BUFFERS] = { y, y };
    struct kernel_launch l;
    CUfunction function;
    int err = cuda_modules_vector(dev->modules, KERNEL_VECTOR_FILL, &function);

    if (err)
        return err;
    kernel_vector_fill(&dev->modules->target, (uintptr_t)y, (uint32_t)size, bits, n, &l);
    return cuda_launch((CUstream)queue->stream, function, &l, base, &l.args);
}

/* ---- conversions ---- */

bool cuda_converts(struct cuda_device *dev)
{
    struct cuda_scope scope;
    CUfunction function;
    int err = cuda_enter(dev, &scope);

    if (err)
        return false;
    err = cuda_modules_vector(dev->modules, KERNEL_VECTOR_CONVERT, &function);
    cuda_leave(&scope);
    return err != FERRY_EUNSUPPORTED;
}

int cuda_convert(void *device, void *handle, int64_t n, uint32_t x_dtype, ferry_cref x,
                 uint32_t y_dtype, ferry_ref y)
{
    struct cuda_device *dev = device;
    void *const base[BUFFERS] = { (void *)(uintptr_t)cuda_at_const(x), cuda_at(y) };
    struct cuda_scope scope;
    struct kernel_launch l;
    CUfunction function;
    int err;

    if (!cuda_element_size(x_dtype) || !cuda_element_size(y_dtype))
        return FERRY_EUNSUPPORTED;
    err = cuda_enter_on(dev, handle, &scope);
    if (err)
        return err;
    err = cuda_modules_vector(dev->modules, KERNEL_VECTOR_CONVERT, &function);
    if (!err) {
        kernel_vector_convert(&dev->modules->target, x_dtype, y_dtype, n, &l);
        err =
            cuda_launch((CUstream)cuda_queue_of(dev, handle)->stream, function, &l, base, &l.args);
    }
    cuda_leave(&scope);
    if (!err)
        dev->counters.ops++;
    return err;
}
