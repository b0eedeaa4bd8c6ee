/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of HIP's that are the driver's in CUDA or have another form; all others are those of
 * CUDA's double under their names in backends/hip/names.h.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdio.h>
#include <string.h>

/* ---- devices ---- */

hipError_t hipDeviceGet(hipDevice_t *out, int ordinal)
{
    *out = ordinal;
    return ordinal < 0 || ordinal >= settings.devices ? hipErrorInvalidDevice : hipSuccess;
}

hipError_t hipDeviceGetUuid(hipUUID *out, hipDevice_t device)
{
    char text[sizeof(out->bytes) + 1];

    snprintf(text, sizeof(text), "%016x", 0xd0b1e000u + (unsigned)device);
    memcpy(out->bytes, text, sizeof(out->bytes));
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *out)
{
    hipError_t error = hipErrorInvalidHandle;

    lock();
    if (!stream) {
        error = hipSuccess;
        *out = bound ? bound->device->ordinal : 0;
    } else if (is_stream(stream)) {
        error = hipSuccess;
        *out = ((struct stream *)(void *)stream)->context->device->ordinal;
    }
    return leave(error);
}

/* ---- modules and sets ---- */

hipError_t hipModuleLoadData(hipModule_t *out, const void *image)
{
    return module_load(out, image);
}

hipError_t hipModuleUnload(hipModule_t module)
{
    return module_unload(module);
}

hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name)
{
    return module_function(out, module, name);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, hipStream_t stream,
                                 void **params, void **extra)
{
    if ((uint64_t)grid_x * block_x > UINT32_MAX) /* hipModuleLaunchKernel, "Parameters" */
        ferry_cuda_double_misuse("hipModuleLaunchKernel: a grid of more than 2^32 - 1 threads");
    return launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                         stream, params, extra);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t n, hipStream_t stream)
{
    return memset_d16(dst, value, n, stream);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t n, hipStream_t stream)
{
    return memset_d32(dst, value, n, stream);
}

/* ---- pointers: before ROCm 6, memory that is not known is an error ---- */

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out, const void *address)
{
    const struct block *block;

    BEGIN(cudaPointerGetAttributes);
    memset(out, 0, sizeof(*out));
    block = block_at(address);
    if (!block && is_leaving(address))
        return leave(misuse("hipPointerGetAttributes: %p is being freed in a stream's order",
                            (void *)(uintptr_t)address));
    if (!block)
        return leave(hipErrorInvalidValue);
#if HIP_VERSION_MAJOR < 6
    out->memoryType = block->device ? hipMemoryTypeDevice : hipMemoryTypeHost;
#else
    out->type = block->device ? hipMemoryTypeDevice : hipMemoryTypeHost;
#endif
    out->device = block->device ? block->device->ordinal : context->device->ordinal;
    out->devicePointer = (void *)(uintptr_t)address;
    if (!block->device)
        out->hostPointer = (void *)(uintptr_t)address;
    return leave(hipSuccess);
}
