/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that differ between CUDA and HIP: driver.c and nvidia.c of backends/cuda are the
 * counterparts. HIP has one library, which the plugin is linked with.
 */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

/* ---- the driver's calls ---- */

/* A device's context exists as long as the process. */
hipError_t hip_retain(int *out, hipDevice_t device)
{
    *out = device;
    return hipSuccess;
}

hipError_t hip_release(hipDevice_t device)
{
    (void)device;
    return hipSuccess;
}

hipError_t hip_state(hipDevice_t device, unsigned *out_flags, int *out_active)
{
    (void)device;
    *out_flags = 0;
    *out_active = 1;
    return hipSuccess;
}

hipError_t hip_error_name(hipError_t error, const char **out)
{
    *out = hipGetErrorName(error);
    return hipSuccess;
}

/*
 * The device of the program's stream. An older runtime cannot tell: the program has to have made
 * the stream's device current, as HIP requires for work on it.
 */
static hipError_t device_of(hipStream_t stream, hipDevice_t *out)
{
    return hipStreamGetDevice ? hipStreamGetDevice(stream, out) : hipGetDevice(out);
}

int cuda_driver_load(void)
{
#define TAKE(member, function) .member = function,
    cuda_driver = (struct cuda_driver){ CUDA_DRIVER_ENTRIES(TAKE) };
#undef TAKE
    cuda_driver.stream_get_ctx = device_of;
    return 0;
}

/* ---- errors ---- */

const char *cuda_hint_of(int code, hipError_t error)
{
    if (code == FERRY_ELOST)
        return "; the data on this device are lost, and it stays unusable until the process ends";
    switch ((int)error) {
    case hipErrorOutOfMemory:
        return "; rocm-smi shows how much of the device's memory is used";
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureInvalidated:
    case hipErrorStreamCaptureImplicit:
        return "; the program is capturing a stream of this device (hipStreamBeginCapture)";
    case hipErrorUnknown:
        return "; check that rocminfo runs, and that the user may open /dev/kfd";
    default:
        return "";
    }
}

int cuda_fail_count(hipError_t error)
{
    cuda_forget(error);
    if (error != hipErrorNoDevice)
        return cuda_fail("hipGetDeviceCount", error);
    return cuda_host->error(FERRY_ENODEV,
                            "hipGetDeviceCount: %s (%s): no GPU of AMD's that the kernel module "
                            "amdgpu offers (/dev/kfd) and HIP_VISIBLE_DEVICES shows",
                            hipGetErrorName(error), hipGetErrorString(error));
}

/* ---- devices ---- */

void cuda_describe(const hipDeviceProp_t *prop, int ordinal, ferry_plugin_properties *out)
{
    hipUUID id;
    hipError_t error = hipDeviceGetUuid(&id, ordinal);

    snprintf(out->description, sizeof(out->description), "%.96s, %.20s", prop->name,
             prop->gcnArchName);
    cuda_forget(error);
    if (error == hipSuccess) /* sixteen digits, with which ROCm's tools name a device */
        snprintf(out->uuid, sizeof(out->uuid), "GPU-%.16s", id.bytes);
}

/* ---- pointers ---- */

hipError_t cuda_place_of(const void *pointer, struct cuda_place *out)
{
    hipPointerAttribute_t what;
    hipError_t error;

    memset(&what, 0, sizeof(what));
    memset(out, 0, sizeof(*out));
    error = hipPointerGetAttributes(&what, pointer);
    if (error == hipErrorInvalidValue) { /* before ROCm 6 of memory that HIP does not know */
        cuda_forget(error);
        return hipSuccess;
    }
    if (error != hipSuccess)
        return error;
#if HIP_VERSION_MAJOR < 6
    out->on_device = what.memoryType == hipMemoryTypeDevice || what.isManaged;
    out->on_host = !out->on_device && what.memoryType == hipMemoryTypeHost;
#else
    out->on_device = what.type == hipMemoryTypeDevice || what.type == hipMemoryTypeManaged;
    out->on_host = what.type == hipMemoryTypeHost;
#endif
    out->ordinal = what.device;
    out->device_pointer = what.devicePointer;
    return hipSuccess;
}
