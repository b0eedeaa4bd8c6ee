/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The current context of a thread, refusal of streams that the program captures, and the order of
 * the devices.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

int cuda_enter(struct cuda_device *dev, struct cuda_scope *scope)
{
    CUresult error = cuda_driver.ctx_get_current(&scope->before);

    scope->changed = false;
    if (error)
        return cuda_fail_driver(CUDA_CONTEXT_GET, error);
    if (scope->before != dev->context) {
        error = cuda_driver.ctx_set_current(dev->context);
        if (error)
            return cuda_fail_driver(CUDA_CONTEXT_SET, error);
        scope->changed = true;
    }
    scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)cuda_driver.capture_mode(&scope->mode); /* relaxed, the mode that accepts every call */
    return 0;
}

int cuda_refuse_capture(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(stream, &capture);

    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaStreamIsCapturing), error);
    if (capture != cudaStreamCaptureStatusNone)
        return cuda_host->error(FERRY_EINVAL,
                                "the program is capturing this stream (" CUDA_PLUGIN
                                "StreamBeginCapture); ferry's work cannot be part of a graph");
    return 0;
}

/*
 * Refuses a queue whose stream the program is capturing; it can capture only a stream whose handle
 * it got.
 */
int cuda_refuse_queue(const struct cuda_queue *queue)
{
    if (queue->owned && !atomic_load_explicit(&queue->known, memory_order_relaxed))
        return 0;
    return cuda_refuse_capture(queue->stream);
}

int cuda_enter_on(struct cuda_device *dev, void *handle, struct cuda_scope *scope)
{
    int err = cuda_enter(dev, scope);

    if (err)
        return err;
    err = cuda_refuse_queue(cuda_queue_of(dev, handle));
    if (err)
        cuda_leave(scope);
    return err;
}

void cuda_leave(struct cuda_scope *scope)
{
    (void)cuda_driver.capture_mode(&scope->mode);
    if (scope->changed)
        cuda_driver.ctx_set_current(scope->before);
}

int cuda_end(struct cuda_scope *scope, const char *call, cudaError_t error)
{
    int err = error == cudaSuccess ? 0 : cuda_fail(call, error);

    cuda_leave(scope);
    return err;
}

/* ---- the devices and their order ---- */

struct place {
    char pci[32];
    int ordinal;
};

static int by_pci(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->pci, ((const struct place *)b)->pci);
}

int cuda_ordinals(int *out, uint32_t *out_count)
{
    struct place places[CUDA_MAX_DEVICES] = { 0 };
    struct cuda_settings set;
    cudaError_t error;
    int count = 0, err = cuda_settings_read(&set);

    if (err)
        return err;
    error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        return cuda_fail_count(error);
    if (count > (int)CUDA_MAX_DEVICES)
        count = (int)CUDA_MAX_DEVICES;
    for (int i = 0; i < count; i++) {
        places[i].ordinal = i;
        if (!set.pci_order)
            continue;
        error = cudaDeviceGetPCIBusId(places[i].pci, (int)sizeof(places[i].pci), i);
        if (error != cudaSuccess)
            return cuda_fail(CALL(cudaDeviceGetPCIBusId), error);
    }
    if (set.pci_order)
        qsort(places, (size_t)count, sizeof(places[0]), by_pci);
    for (int i = 0; i < count; i++)
        out[i] = places[i].ordinal;
    *out_count = (uint32_t)count;
    return 0;
}
