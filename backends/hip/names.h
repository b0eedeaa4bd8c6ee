/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HIP's functions, types and constants under the names of CUDA's that the sources of backends/cuda
 * and their double use, and the facts of nvidia.h. Almost all of HIP has CUDA's arguments and
 * numbers. A context is a device's number here, since HIP knows no other contexts than the primary
 * ones.
 */
#ifndef FERRY_HIP_NAMES_H
#define FERRY_HIP_NAMES_H

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <stdbool.h>

#include "backends/hip/rocblas.h"

#define CUDA_PLUGIN      "hip"
#define CUDA_API         "HIP"
#define CUDA_TOOL        "rocm-smi"
#define CUDA_ORDER       "the HIP runtime (HIP_VISIBLE_DEVICES)"
#define CUDA_BLAS_OBJECT "rocblas_handle"
/* HIP counts the threads of a launch in 32 bits. */
#define CUDA_MOST_GROUPS (UINT32_MAX / CUDA_GROUP)

#define CUDA_HAS_CONTEXTS false
#define CUDA_WORD         int

/* HIP's name of a call, for messages. */
#define CALL_OF(function) #function
#define CALL(function)    CALL_OF(function)
#define CUDA_CONTEXT_GET  "hipGetDevice"
#define CUDA_CONTEXT_SET  "hipSetDevice"

/* The calls of CUDA 11 have HIP's arguments. */
#define CUDART_VERSION 11030

/* ---- the driver's calls ---- */

#define CUdevice                          hipDevice_t
#define CUcontext                         int
#define CUresult                          hipError_t
#define CUstream                          hipStream_t
#define CUmodule                          hipModule_t
#define CUfunction                        hipFunction_t
#define CUdeviceptr                       hipDeviceptr_t
#define CUstreamCaptureMode               hipStreamCaptureMode
#define cuCtxGetCurrent                   hipGetDevice
#define cuCtxSetCurrent                   hipSetDevice
#define cuDeviceGet                       hipDeviceGet
#define cuStreamGetCtx                    hipStreamGetDevice
#define cuMemsetD16Async                  hipMemsetD16Async
#define cuMemsetD32Async                  hipMemsetD32Async
#define cuModuleLoadData                  hipModuleLoadData
#define cuModuleUnload                    hipModuleUnload
#define cuModuleGetFunction               hipModuleGetFunction
#define cuLaunchKernel                    hipModuleLaunchKernel
#define cuThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define CU_STREAM_CAPTURE_MODE_GLOBAL     hipStreamCaptureModeGlobal
#define CU_STREAM_CAPTURE_MODE_RELAXED    hipStreamCaptureModeRelaxed

/* The device of a stream; before ROCm 5.6 there is no such function. */
extern hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *out) __attribute__((weak));
/* HIP has no references to a device, and the names of its errors in another form (runtime.c). */
hipError_t hip_retain(int *out, hipDevice_t device);
hipError_t hip_release(hipDevice_t device);
hipError_t hip_state(hipDevice_t device, unsigned *out_flags, int *out_active);
hipError_t hip_error_name(hipError_t error, const char **out);
#define cuDevicePrimaryCtxRetain   hip_retain
#define cuDevicePrimaryCtxRelease  hip_release
#define cuDevicePrimaryCtxGetState hip_state
#define cuGetErrorName             hip_error_name

/* ---- errors, whose numbers are CUDA's ---- */

#define cudaError_t                          hipError_t
#define cudaSuccess                          hipSuccess
#define cudaErrorInvalidValue                hipErrorInvalidValue
#define cudaErrorMemoryAllocation            hipErrorOutOfMemory
#define cudaErrorInitializationError         hipErrorNotInitialized
#define cudaErrorCudartUnloading             hipErrorDeinitialized
#define cudaErrorStubLibrary                 ((hipError_t)34)
#define cudaErrorInsufficientDriver          hipErrorInsufficientDriver
#define cudaErrorDevicesUnavailable          ((hipError_t)46)
#define cudaErrorNoDevice                    hipErrorNoDevice
#define cudaErrorInvalidDevice               hipErrorInvalidDevice
#define cudaErrorNoKernelImageForDevice      hipErrorNoBinaryForGpu
#define cudaErrorECCUncorrectable            hipErrorECCNotCorrectable
#define cudaErrorPeerAccessUnsupported       hipErrorPeerAccessUnsupported
#define cudaErrorNvlinkUncorrectable         ((hipError_t)220)
#define cudaErrorInvalidResourceHandle       hipErrorInvalidHandle
#define cudaErrorSymbolNotFound              hipErrorNotFound
#define cudaErrorNotReady                    hipErrorNotReady
#define cudaErrorIllegalAddress              hipErrorIllegalAddress
#define cudaErrorLaunchTimeout               hipErrorLaunchTimeOut
#define cudaErrorPeerAccessAlreadyEnabled    hipErrorPeerAccessAlreadyEnabled
#define cudaErrorAssert                      hipErrorAssert
#define cudaErrorHostMemoryAlreadyRegistered hipErrorHostMemoryAlreadyRegistered
#define cudaErrorHostMemoryNotRegistered     hipErrorHostMemoryNotRegistered
#define cudaErrorHardwareStackError          ((hipError_t)714)
#define cudaErrorIllegalInstruction          ((hipError_t)715)
#define cudaErrorMisalignedAddress           ((hipError_t)716)
#define cudaErrorInvalidAddressSpace         ((hipError_t)717)
#define cudaErrorInvalidPc                   ((hipError_t)718)
#define cudaErrorLaunchFailure               hipErrorLaunchFailure
#define cudaErrorNotSupported                hipErrorNotSupported
#define cudaErrorSystemNotReady              ((hipError_t)802)
#define cudaErrorSystemDriverMismatch        ((hipError_t)803)
#define cudaErrorStreamCaptureUnsupported    hipErrorStreamCaptureUnsupported
#define cudaErrorStreamCaptureInvalidated    hipErrorStreamCaptureInvalidated
#define cudaErrorStreamCaptureImplicit       hipErrorStreamCaptureImplicit
#define cudaErrorStreamCaptureWrongThread    hipErrorStreamCaptureWrongThread
#define cudaErrorUnknown                     hipErrorUnknown
#define CUDA_SUCCESS                         hipSuccess
#define CUDA_ERROR_INVALID_VALUE             hipErrorInvalidValue
#define CUDA_ERROR_OUT_OF_MEMORY             hipErrorOutOfMemory
#define CUDA_ERROR_INVALID_IMAGE             hipErrorInvalidImage
#define CUDA_ERROR_NO_BINARY_FOR_GPU         hipErrorNoBinaryForGpu
#define CUDA_ERROR_INVALID_PTX               hipErrorInvalidKernelFile
#define CUDA_ERROR_JIT_COMPILER_NOT_FOUND    ((hipError_t)221)
#define CUDA_ERROR_UNSUPPORTED_PTX_VERSION   ((hipError_t)222)
#define CUDA_ERROR_NOT_FOUND                 hipErrorNotFound

/* ---- the runtime's calls ---- */

#define cudaDeviceProp                    hipDeviceProp_t
#define cudaDeviceAttr                    hipDeviceAttribute_t
#define cudaDriverGetVersion              hipDriverGetVersion
#define cudaRuntimeGetVersion             hipRuntimeGetVersion
#define cudaGetDevice                     hipGetDevice
#define cudaSetDevice                     hipSetDevice
#define cudaGetDeviceCount                hipGetDeviceCount
#define cudaGetDeviceProperties           hipGetDeviceProperties
#define cudaDeviceGetAttribute            hipDeviceGetAttribute
#define cudaDeviceGetPCIBusId             hipDeviceGetPCIBusId
#define cudaDeviceCanAccessPeer           hipDeviceCanAccessPeer
#define cudaDeviceEnablePeerAccess        hipDeviceEnablePeerAccess
#define cudaDeviceSynchronize             hipDeviceSynchronize
#define cudaGetErrorName                  hipGetErrorName
#define cudaGetErrorString                hipGetErrorString
#define cudaGetLastError                  hipGetLastError
#define cudaPeekAtLastError               hipPeekAtLastError
#define cudaDevAttrIntegrated             hipDeviceAttributeIntegrated
#define cudaDevAttrMemoryPoolsSupported   hipDeviceAttributeMemoryPoolsSupported
#define cudaDevAttrMultiProcessorCount    hipDeviceAttributeMultiprocessorCount
#define cudaDevAttrComputeCapabilityMajor hipDeviceAttributeComputeCapabilityMajor
#define cudaDevAttrComputeCapabilityMinor hipDeviceAttributeComputeCapabilityMinor
#define cudaDevAttrPageableMemoryAccessUsesHostPageTables \
    hipDeviceAttributePageableMemoryAccessUsesHostPageTables

#define cudaStream_t                        hipStream_t
#define cudaStreamNonBlocking               hipStreamNonBlocking
#define cudaStreamPerThread                 hipStreamPerThread
#define cudaStreamLegacy                    NULL
#define cudaStreamCreateWithFlags           hipStreamCreateWithFlags
#define cudaStreamDestroy                   hipStreamDestroy
#define cudaStreamQuery                     hipStreamQuery
#define cudaStreamSynchronize               hipStreamSynchronize
#define cudaStreamWaitEvent                 hipStreamWaitEvent
#define cudaStreamBeginCapture              hipStreamBeginCapture
#define cudaStreamEndCapture                hipStreamEndCapture
#define cudaStreamIsCapturing               hipStreamIsCapturing
#define cudaStreamCaptureMode               hipStreamCaptureMode
#define cudaStreamCaptureModeGlobal         hipStreamCaptureModeGlobal
#define cudaStreamCaptureModeRelaxed        hipStreamCaptureModeRelaxed
#define cudaStreamCaptureStatus             hipStreamCaptureStatus
#define cudaStreamCaptureStatusNone         hipStreamCaptureStatusNone
#define cudaStreamCaptureStatusActive       hipStreamCaptureStatusActive
#define cudaStreamCaptureStatusInvalidated  hipStreamCaptureStatusInvalidated
#define cudaThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define cudaEvent_t                         hipEvent_t
#define cudaEventDefault                    hipEventDefault
#define cudaEventDisableTiming              hipEventDisableTiming
#define cudaEventCreateWithFlags            hipEventCreateWithFlags
#define cudaEventDestroy                    hipEventDestroy
#define cudaEventRecord                     hipEventRecord
#define cudaEventQuery                      hipEventQuery
#define cudaEventSynchronize                hipEventSynchronize
#define cudaEventElapsedTime                hipEventElapsedTime
#define cudaGraph_t                         hipGraph_t
#define cudaGraphNode_t                     hipGraphNode_t
#define cudaGraphExec_t                     hipGraphExec_t
#define cudaGraphInstantiate                hipGraphInstantiate
#define cudaGraphLaunch                     hipGraphLaunch
#define cudaGraphDestroy                    hipGraphDestroy
#define cudaGraphExecDestroy                hipGraphExecDestroy

#define cudaMalloc                      hipMalloc
#define cudaFree                        hipFree
#define cudaMallocFromPoolAsync         hipMallocFromPoolAsync
#define cudaFreeAsync                   hipFreeAsync
#define cudaMemGetInfo                  hipMemGetInfo
#define cudaMemPool_t                   hipMemPool_t
#define cudaMemPoolAttr                 hipMemPoolAttr
#define cudaMemPoolAttrReleaseThreshold hipMemPoolAttrReleaseThreshold
#define cudaMemPoolProps                hipMemPoolProps
#define cudaMemAllocationTypePinned     hipMemAllocationTypePinned
#define cudaMemHandleTypeNone           hipMemHandleTypeNone
#define cudaMemLocationTypeDevice       hipMemLocationTypeDevice
#define cudaMemAccessDesc               hipMemAccessDesc
#define cudaMemAccessFlagsProtReadWrite hipMemAccessFlagsProtReadWrite
#define cudaMemPoolCreate               hipMemPoolCreate
#define cudaMemPoolDestroy              hipMemPoolDestroy
#define cudaMemPoolSetAttribute         hipMemPoolSetAttribute
#define cudaMemPoolSetAccess            hipMemPoolSetAccess
#define cudaMemPoolTrimTo               hipMemPoolTrimTo
#define cudaHostAlloc                   hipHostMalloc
#define cudaHostAllocPortable           hipHostMallocPortable
#define cudaHostAllocMapped             hipHostMallocMapped
#define cudaFreeHost                    hipHostFree
#define cudaHostRegister                hipHostRegister
#define cudaHostRegisterPortable        hipHostRegisterPortable
#define cudaHostRegisterMapped          hipHostRegisterMapped
#define cudaHostUnregister              hipHostUnregister
#define cudaHostGetDevicePointer        hipHostGetDevicePointer
#define cudaPointerGetAttributes        hipPointerGetAttributes
#define cudaMemcpyKind                  hipMemcpyKind
#define cudaMemcpyHostToDevice          hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost          hipMemcpyDeviceToHost
#define cudaMemcpyDeviceToDevice        hipMemcpyDeviceToDevice
#define cudaMemcpyAsync                 hipMemcpyAsync
#define cudaMemcpyPeerAsync             hipMemcpyPeerAsync
#define cudaMemsetAsync                 hipMemsetAsync

#endif
