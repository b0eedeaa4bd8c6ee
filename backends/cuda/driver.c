/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's own calls, which the runtime looks up, because a machine without a driver has no
 * libcuda to link. They make contexts current without cudaSetDevice.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

/*
 * Looks entries up by version if the runtime supports it: otherwise the newest variant of a name is
 * returned, and cuStreamGetCtx has one more argument since 12.5. The reference is weak, because a
 * plugin built with an older 12 may run with a newer runtime.
 */
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 12050
extern cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **out,
                                                    unsigned version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *found)
    __attribute__((weak));
#endif

static cudaError_t entry_point(const char *name, void **out)
{
    cudaError_t error;
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#endif

#if CUDART_VERSION >= 12050
    error = cudaGetDriverEntryPointByVersion(name, out, 11030, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
    if (cudaGetDriverEntryPointByVersion)
        error = cudaGetDriverEntryPointByVersion(name, out, 11030, cudaEnableDefault, &found);
    else
        error = cudaGetDriverEntryPoint(name, out, cudaEnableDefault, &found);
#else
    error = cudaGetDriverEntryPoint(name, out, cudaEnableDefault);
#endif
    if (error == cudaSuccess && !*out)
        error = cudaErrorSymbolNotFound;
    return error;
}

static int load_locked(void)
{
    struct cuda_driver table = { 0 };
    cudaError_t error;

#define LOAD(member, function)                                      \
    error = entry_point(#function, (void **)(void *)&table.member); \
    if (error != cudaSuccess)                                       \
        return cuda_fail("cudaGetDriverEntryPoint of " #function, error);
    CUDA_DRIVER_ENTRIES(LOAD)
#undef LOAD
    cuda_driver = table;
    loaded = true;
    return 0;
}

int cuda_driver_load(void)
{
    int err;

    pthread_mutex_lock(&load_lock);
    err = loaded ? 0 : load_locked();
    pthread_mutex_unlock(&load_lock);
    return err;
}

int cuda_enter(struct cuda_device *dev, struct cuda_scope *scope)
{
    CUresult error = cuda_driver.ctx_get_current(&scope->before);

    scope->changed = false;
    if (error)
        return cuda_fail_driver("cuCtxGetCurrent", error);
    if (scope->before != dev->context) {
        error = cuda_driver.ctx_set_current(dev->context);
        if (error)
            return cuda_fail_driver("cuCtxSetCurrent", error);
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
        return cuda_fail("cudaStreamIsCapturing", error);
    if (capture != cudaStreamCaptureStatusNone)
        return cuda_host->error(FERRY_EINVAL,
                                "the program is capturing this stream (cudaStreamBeginCapture); "
                                "ferry's work cannot be part of a graph");
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
            return cuda_fail("cudaDeviceGetPCIBusId", error);
    }
    if (set.pci_order)
        qsort(places, (size_t)count, sizeof(places[0]), by_pci);
    for (int i = 0; i < count; i++)
        out[i] = places[i].ordinal;
    *out_count = (uint32_t)count;
    return 0;
}
