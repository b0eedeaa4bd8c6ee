/* SPDX-License-Identifier: BSD-2-Clause */
/* The runtime's calls on devices without a context. */
#define _GNU_SOURCE
#include "double.h"

#include <stdio.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int *out)
{
    cudaError_t error;

    lock();
    settings_read();
    error = enter("cudaGetDeviceCount");
    if (error == cudaSuccess && (!settings.devices || !strcmp(settings.driver, "no-device")))
        error = cudaErrorNoDevice;
    else if (error == cudaSuccess && strcmp(settings.driver, "ok") != 0)
        error = cudaErrorInsufficientDriver;
    *out = error == cudaSuccess ? settings.devices : 0;
    return leave(error);
}

cudaError_t cudaDriverGetVersion(int *out)
{
    *out = !strcmp(settings.driver, "none") ? 0 : !strcmp(settings.driver, "old") ? 11020 : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *out)
{
    *out = CUDART_VERSION;
    return cudaSuccess;
}

/* The first device has the highest bus address. */
static int bus_of(int ordinal)
{
    return 0x80 - 0x10 * ordinal;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int ordinal)
{
    cudaError_t error;

    lock();
    error = enter("cudaDeviceGetPCIBusId");
    if (error == cudaSuccess && (ordinal < 0 || ordinal >= settings.devices))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        snprintf(out, (size_t)size, "0000:%02x:00.0", (unsigned)bus_of(ordinal));
    return leave(error);
}

static void double_properties(struct cudaDeviceProp *out, int ordinal)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "double");
    out->totalGlobalMem = settings.memory;
    out->major = settings.capability / 10;
    out->minor = settings.capability % 10;
    out->pciBusID = bus_of(ordinal);
    out->integrated = settings.integrated;
#ifdef CUDA_NAMES
    snprintf(out->gcnArchName, sizeof(out->gcnArchName), "%s", settings.arch);
#else
    for (int i = 0; i < 16; i++)
        out->uuid.bytes[i] = (char)(16 * ordinal + i);
    out->unifiedAddressing = 1;
#endif
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int ordinal)
{
    cudaError_t error;

    lock();
    error = enter("cudaGetDeviceProperties");
    if (error == cudaSuccess && (ordinal < 0 || ordinal >= settings.devices))
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return leave(error);
    double_properties(out, ordinal);
    return leave(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr which, int ordinal)
{
    cudaError_t error;

    lock();
    error = enter("cudaDeviceGetAttribute");
    if (error == cudaSuccess && (ordinal < 0 || ordinal >= settings.devices))
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return leave(error);
    if (which == cudaDevAttrMemoryPoolsSupported)
        *out = settings.pools;
    else if (which == cudaDevAttrPageableMemoryAccessUsesHostPageTables)
        *out = settings.page_tables;
    else if (which == cudaDevAttrIntegrated)
        *out = settings.integrated;
    else if (which == cudaDevAttrComputeCapabilityMajor)
        *out = settings.capability / 10;
    else if (which == cudaDevAttrComputeCapabilityMinor)
        *out = settings.capability % 10;
    else if (which == cudaDevAttrMultiProcessorCount)
        *out = 2;
    else
        error = misuse("cudaDeviceGetAttribute: attribute %d is not supported here", (int)which);
    return leave(error);
}

/* ---- peers ---- */

cudaError_t cudaDeviceCanAccessPeer(int *out, int device, int peer)
{
    cudaError_t error;

    lock();
    error = enter("cudaDeviceCanAccessPeer");
    *out = error == cudaSuccess && settings.peers && device != peer;
    return leave(error);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    struct context *context;
    cudaError_t error;

    lock();
    error = enter("cudaDeviceEnablePeerAccess");
    if (error == cudaSuccess)
        error = current("cudaDeviceEnablePeerAccess", &context);
    if (error != cudaSuccess)
        return leave(error);
    if (flags)
        return leave(cudaErrorInvalidValue);
    if (!settings.peers || peer == context->device->ordinal)
        return leave(cudaErrorInvalidDevice);
    if (!device_at(peer)->primary.references)
        return leave(misuse("cudaDeviceEnablePeerAccess: device %d has no context, and the call "
                            "would create one",
                            peer));
    if (context->device->peers & 1u << peer)
        return leave(cudaErrorPeerAccessAlreadyEnabled);
    context->device->peers |= 1u << peer;
    return leave(cudaSuccess);
}
