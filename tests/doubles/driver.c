/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's calls, by their names, and the attributes of pointers: hip.c has HIP's forms of
 * them.
 */
#define _GNU_SOURCE
#include "double.h"

#include <string.h>

/* ---- the driver ---- */

static CUresult get_current(CUcontext *out)
{
    *out = (CUcontext)(void *)bound;
    return CUDA_SUCCESS;
}

static bool is_context(const void *context)
{
    for (int i = 0; i < MOST_DEVICES; i++)
        if (context == &device_at(i)->primary && device_at(i)->primary.references)
            return true;
    return false;
}

static CUresult set_current(CUcontext context)
{
    CUresult failed;

    lock();
    failed = (CUresult)enter("cuCtxSetCurrent");
    if (!failed && context && !is_context(context))
        failed = CUDA_ERROR_INVALID_CONTEXT;
    if (!failed)
        bound = (struct context *)(void *)context;
    unlock();
    return failed;
}

static CUresult device_get(CUdevice *out, int ordinal)
{
    if (ordinal < 0 || ordinal >= settings.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return CUDA_SUCCESS;
}

static CUresult primary_retain(CUcontext *out, CUdevice ordinal)
{
    CUresult failed;

    lock();
    failed = (CUresult)enter("cuDevicePrimaryCtxRetain");
    if (!failed && forked())
        failed = CUDA_ERROR_NOT_INITIALIZED;
    if (!failed) {
        context_retain(device_at(ordinal));
        *out = (CUcontext)(void *)&device_at(ordinal)->primary;
    }
    unlock();
    return failed;
}

static CUresult primary_release(CUdevice ordinal)
{
    struct context *context = &device_at(ordinal)->primary;

    CUresult failed = CUDA_SUCCESS;

    lock();
    if (!context->references) {
        (void)misuse("cuDevicePrimaryCtxRelease: device %d has no context", ordinal);
        failed = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        if (context->references == 1)
            context_destroy(context);
        context->references--;
    }
    unlock();
    return failed;
}

static CUresult primary_state(CUdevice ordinal, unsigned *flags, int *active)
{
    *flags = 0;
    *active = device_at(ordinal)->primary.references > 0;
    return CUDA_SUCCESS;
}

static CUresult stream_get_ctx(CUstream stream, CUcontext *out)
{
    CUresult failed = CUDA_ERROR_INVALID_HANDLE;

    lock();
    if (!stream || (void *)stream == (void *)cudaStreamLegacy) {
        failed = bound ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
        *out = (CUcontext)(void *)bound;
    } else if (is_stream(stream)) {
        *out = (CUcontext)(void *)((struct stream *)(void *)stream)->context;
        failed = CUDA_SUCCESS;
    }
    unlock();
    return failed;
}

static CUresult error_name(CUresult error, const char **out)
{
    *out = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : error == CUDA_ERROR_INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
           : error == CUDA_ERROR_INVALID_HANDLE  ? "CUDA_ERROR_INVALID_HANDLE"
           : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : error == CUDA_ERROR_LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
           : error == CUDA_ERROR_INVALID_VALUE   ? "CUDA_ERROR_INVALID_VALUE"
           : error == CUDA_ERROR_INVALID_IMAGE   ? "CUDA_ERROR_INVALID_IMAGE"
           : error == CUDA_ERROR_NOT_FOUND       ? "CUDA_ERROR_NOT_FOUND"
                                                 : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}

static void *driver_entry(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
        { "cuCtxGetCurrent", (void (*)(void))get_current },
        { "cuCtxSetCurrent", (void (*)(void))set_current },
        { "cuDeviceGet", (void (*)(void))device_get },
        { "cuDevicePrimaryCtxRetain", (void (*)(void))primary_retain },
        { "cuDevicePrimaryCtxRelease", (void (*)(void))primary_release },
        { "cuDevicePrimaryCtxGetState", (void (*)(void))primary_state },
        { "cuStreamGetCtx", (void (*)(void))stream_get_ctx },
        { "cuThreadExchangeStreamCaptureMode", (void (*)(void))capture_exchange },
        { "cuGetErrorName", (void (*)(void))error_name },
        { "cuMemsetD16Async", (void (*)(void))memset_d16 },
        { "cuMemsetD32Async", (void (*)(void))memset_d32 },
        { "cuModuleLoadData", (void (*)(void))module_load },
        { "cuModuleUnload", (void (*)(void))module_unload },
        { "cuModuleGetFunction", (void (*)(void))module_function },
        { "cuLaunchKernel", (void (*)(void))launch_kernel },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (!strcmp(table[i].name, name))
            return (void *)(uintptr_t)table[i].function;
    return NULL;
}

/* ---- the runtime's calls ---- */

static cudaError_t find_entry(const char *name, void **out)
{
    cudaError_t error;

    lock();
    error = enter("cudaGetDriverEntryPoint");
    *out = error == cudaSuccess ? driver_entry(name) : NULL;
    return leave(error);
}

#if CUDART_VERSION >= 12000
static cudaError_t find_and_say(const char *name, void **out,
                                enum cudaDriverEntryPointQueryResult *found)
{
    cudaError_t error = find_entry(name, out);

    if (found)
        *found = *out ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return error;
}
#endif

/*
 * Of all versions 12 the latest one, which has both calls; the older call returns the functions of
 * the latest header.
 */
#if CUDART_VERSION >= 12000
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found);
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)version, (void)flags;
    return find_and_say(name, out, found);
}

cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *found)
{
    (void)flags;
    lock();
    if (!strcmp(name, "cuStreamGetCtx"))
        return leave(misuse("cudaGetDriverEntryPoint: cuStreamGetCtx has two forms since 12.5, and "
                            "this gives the newer"));
    unlock();
    return find_and_say(name, out, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags)
{
    (void)flags;
    return find_entry(name, out);
}
#endif

/* ---- pointers ---- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *address)
{
    const struct block *block;

    BEGIN(cudaPointerGetAttributes);
    memset(out, 0, sizeof(*out));
    block = block_at(address);
    if (!block && is_leaving(address))
        return leave(misuse("cudaPointerGetAttributes: %p is being freed in a stream's order",
                            (void *)(uintptr_t)address));
    out->type = !block          ? cudaMemoryTypeUnregistered
                : block->device ? cudaMemoryTypeDevice
                                : cudaMemoryTypeHost;
    out->device = !block          ? cudaInvalidDeviceId
                  : block->device ? block->device->ordinal
                                  : context->device->ordinal;
    if (block)
        out->devicePointer = (void *)(uintptr_t)address;
    if (out->type == cudaMemoryTypeHost)
        out->hostPointer = (void *)(uintptr_t)address;
    return leave(cudaSuccess);
}
