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
                            cudaGetErrorString(error), cuda_hint_of(code, error));
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
                            cuda_hint_of(code, (cudaError_t)error));
}

/* Queries the device if the status may mean that it is lost. */
static cudaError_t ask(cublasStatus_t status, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    if (CUDA_BLAS_IS_VAGUE(status))
        error = cudaStreamQuery(stream);
    cuda_forget(error);
    return error == cudaErrorNotReady ? cudaSuccess : error;
}

int cuda_fail_blas(const char *call, cublasStatus_t status, cudaStream_t stream)
{
    cudaError_t behind = ask(status, stream);
    const char *name = "an unknown status";
    int code = FERRY_EDEVICE;

#define ROW(known, ferry_code) \
    if (status == known) {     \
        name = #known;         \
        code = ferry_code;     \
    }
    CUDA_BLAS_STATUSES(ROW)
#undef ROW
    if (behind == cudaSuccess)
        return cuda_host->error(code, "%s: %s", call, name);
    if (cuda_is_lost(behind))
        code = FERRY_ELOST;
    return cuda_host->error(code, "%s: %s, after %s (%s)%s", call, name, cudaGetErrorName(behind),
                            cudaGetErrorString(behind), cuda_hint_of(code, behind));
}

int cuda_fail_handle(cublasStatus_t status, cudaStream_t stream)
{
    size_t left = 0, total = 0;

    if (status != CUBLAS_STATUS_NOT_INITIALIZED || ask(status, stream) != cudaSuccess ||
        !cuda_memory_left(&left, &total))
        return cuda_fail_blas(CALL(cublasCreate), status, stream);
    return cuda_host->error(
        FERRY_ENOMEM,
        "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED, which it returns if memory is short: %zu of "
        "%zu bytes are free",
        left, total);
}
