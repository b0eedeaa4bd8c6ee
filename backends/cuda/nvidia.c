/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the plugin whose counterparts for HIP are in backends/hip/runtime.c. */
#include "cuda.h"

#include <stdio.h>

/* ---- errors ---- */

/*
 * A hint for the user. Errors are given by number, because the oldest supported headers lack some
 * names.
 */
const char *cuda_hint_of(int code, cudaError_t error)
{
    if (code == FERRY_ELOST)
        return "; the data on this device are lost, and its context stays unusable until the "
               "process ends";
    switch ((int)error) {
    case cudaErrorMemoryAllocation:
        return "; nvidia-smi shows which processes use the device's memory";
    case 34: /* cudaErrorStubLibrary */
        return "; the toolkit's stub of libcuda.so.1 hides the driver's: remove its folder from "
               "LD_LIBRARY_PATH";
    case 46: /* cudaErrorDevicesUnavailable */
        return "; another process has exclusive use of the device (nvidia-smi -q shows its compute "
               "mode)";
    case cudaErrorSystemNotReady:
        return "; check that nvidia-fabricmanager runs";
    case cudaErrorSystemDriverMismatch:
        return "; the driver was updated but its old kernel module is loaded: restart";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
        return "; the program is capturing a stream of this device (cudaStreamBeginCapture)";
    case cudaErrorUnknown:
        return "; check that nvidia-smi runs, and that the module nvidia_uvm is loaded";
    default:
        return "";
    }
}

/* ---- devices ---- */

void cuda_describe(const struct cudaDeviceProp *prop, int ordinal, ferry_plugin_properties *out)
{
    const unsigned char *id = (const unsigned char *)prop->uuid.bytes;
    int at = snprintf(out->uuid, sizeof(out->uuid), "GPU-");

    (void)ordinal;
    snprintf(out->description, sizeof(out->description), "%.96s, compute capability %d.%d",
             prop->name, prop->major, prop->minor);
    for (int i = 0; i < 16; i++)
        at += snprintf(out->uuid + at, sizeof(out->uuid) - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

/* ---- pointers ---- */

cudaError_t cuda_place_of(const void *pointer, struct cuda_place *out)
{
    struct cudaPointerAttributes what = { .type = cudaMemoryTypeUnregistered };
    cudaError_t error = cudaPointerGetAttributes(&what, pointer);

    out->on_device = what.type == cudaMemoryTypeDevice || what.type == cudaMemoryTypeManaged;
    out->on_host = what.type == cudaMemoryTypeHost;
    out->ordinal = what.device;
    out->device_pointer = what.devicePointer;
    return error;
}
