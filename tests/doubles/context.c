/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices, their contexts, the current context of each thread, and the driver's calls.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN ((size_t)1 << 33) /* size of a device's address range */

static struct device devices[MOST_DEVICES];
static pid_t owner; /* the process that initialised CUDA, which does not survive fork */

static _Thread_local struct context *bound;
static _Thread_local int chosen; /* by cudaSetDevice, or the first */

struct device *device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < MOST_DEVICES ? &devices[ordinal] : NULL;
}

static bool forked(void)
{
    if (!owner)
        owner = getpid();
    return owner != getpid();
}

/* ---- contexts; the lock is held ---- */

static void create(struct device *device)
{
    void *base;

    if (!device->base) {
        base = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return;
        device->base = device->cursor = base;
    }
    device->ordinal = (int)(device - devices);
    device->memory = settings.memory;
    device->primary.device = device;
    device->primary.sticky = cudaSuccess;
    device->primary.main = stream_new(&device->primary);
}

unsigned count_blocks(const struct device *device);
unsigned count_modules(const struct context *context);
void drop_blocks(const struct device *device);

/*
 * Called after the last release: frees all objects of the context, which their owners should have
 * freed.
 */
static void destroy(struct context *context)
{
    struct device *device = context->device;
    unsigned left = 0;

    drain_context(context);
    for (struct stream *stream = streams; stream; stream = stream->next)
        left += stream->context == context && stream != context->main;
    if (context->sticky == cudaSuccess && (left || count_blocks(device) || count_modules(context)))
        (void)misuse("the context of device %d ends with %u streams, %u blocks and %u modules",
                     device->ordinal, left, count_blocks(device), count_modules(context));
    if (context->handles)
        (void)misuse("the context of device %d ends before %d handles of cuBLAS or cuDNN",
                     device->ordinal, context->handles);
    context->handles = 0;
    stream_delete(context->main);
    context->main = NULL;
    drop_blocks(device);
    device->used = 0;
    device->peers = 0;
    if (bound == context)
        bound = NULL;
}

static void retain(struct device *device)
{
    if (device->primary.references++ == 0)
        create(device);
}

cudaError_t current(const char *call, struct context **out)
{
    if (forked())
        return cudaErrorInitializationError;
    if (bound && !bound->references)
        return misuse("%s: the current context has been destroyed", call);
    if (!bound) {
        cudaError_t error = misuse("%s: no context is current, and the call would create one on "
                                   "device %d",
                                   call, chosen);

        if (devices[chosen].primary.references == 0)
            retain(&devices[chosen]);
        bound = &devices[chosen].primary;
        return error;
    }
    *out = bound;
    return bound->sticky;
}

/* ---- the driver ---- */

static CUresult get_current(CUcontext *out)
{
    *out = (CUcontext)(void *)bound;
    return CUDA_SUCCESS;
}

static bool is_context(const void *context)
{
    for (int i = 0; i < MOST_DEVICES; i++)
        if (context == &devices[i].primary && devices[i].primary.references)
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
        retain(&devices[ordinal]);
        *out = (CUcontext)(void *)&devices[ordinal].primary;
    }
    unlock();
    return failed;
}

static CUresult primary_release(CUdevice ordinal)
{
    struct context *context = &devices[ordinal].primary;

    CUresult failed = CUDA_SUCCESS;

    lock();
    if (!context->references) {
        (void)misuse("cuDevicePrimaryCtxRelease: device %d has no context", ordinal);
        failed = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        if (context->references == 1)
            destroy(context);
        context->references--;
    }
    unlock();
    return failed;
}

static CUresult primary_state(CUdevice ordinal, unsigned *flags, int *active)
{
    *flags = 0;
    *active = devices[ordinal].primary.references > 0;
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

CUresult memset_d16(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream);
CUresult memset_d32(CUdeviceptr dst, unsigned value, size_t n, CUstream stream);
CUresult module_load(CUmodule *out, const void *image);
CUresult module_unload(CUmodule handle);
CUresult module_function(CUfunction *out, CUmodule handle, const char *name);
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream stream, void **params, void **extra);

void *driver_entry(const char *name)
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
 * For all versions 12, the latest header is used, which has both calls; the older call returns the
 * functions of the latest header.
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

cudaError_t cudaSetDevice(int ordinal)
{
    lock();
    if (!settings.memory) /* the devices have not been counted yet */
        settings_read();
    if (ordinal < 0 || ordinal >= settings.devices)
        return leave(cudaErrorInvalidDevice);
    chosen = ordinal;
    if (!devices[ordinal].primary.references)
        retain(&devices[ordinal]);
    bound = &devices[ordinal].primary;
    return leave(cudaSuccess);
}

cudaError_t cudaGetDevice(int *out)
{
    *out = bound ? bound->device->ordinal : chosen;
    return cudaSuccess;
}

int ferry_cuda_double_enter(const char *call, void **context)
{
    struct context *now = NULL;
    cudaError_t error;

    lock();
    error = enter(call);
    if (error == cudaSuccess)
        error = current(call, &now);
    if (error == cudaSuccess && *context && *context != now)
        error = misuse("%s: the handle belongs to another context", call);
    if (error == cudaSuccess)
        *context = now;
    return (int)leave_apart(error);
}
