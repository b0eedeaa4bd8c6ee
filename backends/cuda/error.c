/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors, with the vendor's descriptions. The runtime keeps the latest error of a thread for
 * cudaGetLastError. ferry removes the errors that it has reported from there, and no others, so
 * that a program that checks after its own launch finds only its own error.
 */
#include "cuda.h"

/* Whether the context is unusable after this error: every later call fails too. */
bool cuda_is_lost(cudaError_t error)
{
    switch ((int)error) {
    case cudaErrorCudartUnloading:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case 226: /* cudaErrorContained */
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case 709: /* cudaErrorContextIsDestroyed */
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case 721: /* cudaErrorTensorMemoryLeak */
    case 810: /* cudaErrorMpsClientTerminated */
    case 911: /* cudaErrorExternalDevice */
        return true;
    default:
        return false;
    }
}

static int code_of(cudaError_t error)
{
    if (cuda_is_lost(error))
        return FERRY_ELOST;
    switch ((int)error) {
    case cudaErrorMemoryAllocation:
        return FERRY_ENOMEM;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case 34: /* cudaErrorStubLibrary */
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
        return FERRY_ENODEV;
    case cudaErrorInvalidValue:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
        return FERRY_EINVAL;
    case cudaErrorNotSupported:
        return FERRY_EUNSUPPORTED;
    default:
        return FERRY_EDEVICE;
    }
}

/*
 * A hint for the user. Errors are given by number, because the oldest supported headers lack some
 * names.
 */
static const char *hint_of(int code, cudaError_t error)
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

/*
 * Removes the error that ferry's call has left. cudaErrorNotReady is not a failure, and the guide
 * says that it is not kept, but some drivers keep it.
 */
void cuda_forget(cudaError_t error)
{
    if (error != cudaSuccess && cudaPeekAtLastError() == error)
        (void)cudaGetLastError();
}

bool cuda_memory_left(size_t *out_left, size_t *out_total)
{
    cudaError_t error = cudaMemGetInfo(out_left, out_total);

    cuda_forget(error);
    return error == cudaSuccess;
}

int cuda_fail(const char *call, cudaError_t error)
{
    int code = code_of(error);

    cuda_forget(error);
    return cuda_host->error(code, "%s: %s (%s)%s", call, cudaGetErrorName(error),
                            cudaGetErrorString(error), hint_of(code, error));
}

/*
 * Reports an error of the driver, whose numbers are those of the runtime, and whose names differ.
 */
int cuda_fail_driver(const char *call, CUresult error)
{
    int code = code_of((cudaError_t)error);
    const char *name = NULL;

    if (!cuda_driver.error_name || cuda_driver.error_name(error, &name) || !name)
        name = "an unknown error";
    return cuda_host->error(code, "%s: %s (%s)%s", call, name,
                            cudaGetErrorString((cudaError_t)error),
                            hint_of(code, (cudaError_t)error));
}

#define STATUS(X)                        \
    X(NOT_INITIALIZED, FERRY_EDEVICE)    \
    X(ALLOC_FAILED, FERRY_ENOMEM)        \
    X(INVALID_VALUE, FERRY_EINVAL)       \
    X(ARCH_MISMATCH, FERRY_EUNSUPPORTED) \
    X(MAPPING_ERROR, FERRY_EDEVICE)      \
    X(EXECUTION_FAILED, FERRY_EDEVICE)   \
    X(INTERNAL_ERROR, FERRY_EDEVICE)     \
    X(NOT_SUPPORTED, FERRY_EUNSUPPORTED) \
    X(LICENSE_ERROR, FERRY_EDEVICE)

/* Queries the device if the status may mean that it is lost. */
static cudaError_t ask(cublasStatus_t status, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    if (status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR ||
        status == CUBLAS_STATUS_MAPPING_ERROR || status == CUBLAS_STATUS_NOT_INITIALIZED)
        error = cudaStreamQuery(stream);
    cuda_forget(error);
    return error == cudaErrorNotReady ? cudaSuccess : error;
}

int cuda_fail_blas(const char *call, cublasStatus_t status, cudaStream_t stream)
{
    cudaError_t behind = ask(status, stream);
    const char *name = "an unknown status";
    int code = FERRY_EDEVICE;

#define ROW(status_name, ferry_code)             \
    if (status == CUBLAS_STATUS_##status_name) { \
        name = "CUBLAS_STATUS_" #status_name;    \
        code = ferry_code;                       \
    }
    STATUS(ROW)
#undef ROW
    if (behind == cudaSuccess)
        return cuda_host->error(code, "%s: %s", call, name);
    if (cuda_is_lost(behind))
        code = FERRY_ELOST;
    return cuda_host->error(code, "%s: %s, after %s (%s)%s", call, name, cudaGetErrorName(behind),
                            cudaGetErrorString(behind), hint_of(code, behind));
}

int cuda_fail_handle(cublasStatus_t status, cudaStream_t stream)
{
    size_t left = 0, total = 0;

    if (status != CUBLAS_STATUS_NOT_INITIALIZED || ask(status, stream) != cudaSuccess ||
        !cuda_memory_left(&left, &total))
        return cuda_fail_blas("cublasCreate", status, stream);
    return cuda_host->error(
        FERRY_ENOMEM,
        "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED, which it returns if memory is short: %zu of "
        "%zu bytes are free",
        left, total);
}

/* Reports why there is no device; causes that a user can fix have messages of their own. */
int cuda_fail_count(cudaError_t error)
{
    const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
    int driver = 0;

    cuda_forget(error);
    if (error == cudaErrorNoDevice)
        return cuda_host->error(FERRY_ENODEV,
                                "cudaGetDeviceCount: %s (%s): the driver works but finds no GPU; "
                                "CUDA_VISIBLE_DEVICES may hide it",
                                name, text);
    if (error != cudaErrorInsufficientDriver)
        return cuda_fail("cudaGetDeviceCount", error);
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return cuda_host->error(FERRY_ENODEV,
                                "cudaGetDeviceCount: %s: no NVIDIA driver (libcuda.so.1); install "
                                "it, and check that nvidia-smi runs",
                                name);
    return cuda_host->error(FERRY_ENODEV,
                            "cudaGetDeviceCount: %s: the driver is too old: it supports CUDA "
                            "%d.%d, and this plugin was built with %d.%d; install a newer driver",
                            name, driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                            CUDART_VERSION % 1000 / 10);
}
