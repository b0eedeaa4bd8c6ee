/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Error names. CLBlast passes OpenCL's errors on; its own numbers do not overlap them.
 */
#include "opencl.h"

#include <stdio.h>

const ferry_host *ocl_host;

/* The errors by number, because headers of an older OpenCL lack the newer names. */
#define OPENCL_ERRORS(X)                              \
    X(DEVICE_NOT_FOUND, -1)                           \
    X(DEVICE_NOT_AVAILABLE, -2)                       \
    X(COMPILER_NOT_AVAILABLE, -3)                     \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4)              \
    X(OUT_OF_RESOURCES, -5)                           \
    X(OUT_OF_HOST_MEMORY, -6)                         \
    X(PROFILING_INFO_NOT_AVAILABLE, -7)               \
    X(MEM_COPY_OVERLAP, -8)                           \
    X(IMAGE_FORMAT_MISMATCH, -9)                      \
    X(IMAGE_FORMAT_NOT_SUPPORTED, -10)                \
    X(BUILD_PROGRAM_FAILURE, -11)                     \
    X(MAP_FAILURE, -12)                               \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13)              \
    X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14) \
    X(COMPILE_PROGRAM_FAILURE, -15)                   \
    X(LINKER_NOT_AVAILABLE, -16)                      \
    X(LINK_PROGRAM_FAILURE, -17)                      \
    X(DEVICE_PARTITION_FAILED, -18)                   \
    X(KERNEL_ARG_INFO_NOT_AVAILABLE, -19)             \
    X(INVALID_VALUE, -30)                             \
    X(INVALID_DEVICE_TYPE, -31)                       \
    X(INVALID_PLATFORM, -32)                          \
    X(INVALID_DEVICE, -33)                            \
    X(INVALID_CONTEXT, -34)                           \
    X(INVALID_QUEUE_PROPERTIES, -35)                  \
    X(INVALID_COMMAND_QUEUE, -36)                     \
    X(INVALID_HOST_PTR, -37)                          \
    X(INVALID_MEM_OBJECT, -38)                        \
    X(INVALID_IMAGE_FORMAT_DESCRIPTOR, -39)           \
    X(INVALID_IMAGE_SIZE, -40)                        \
    X(INVALID_SAMPLER, -41)                           \
    X(INVALID_BINARY, -42)                            \
    X(INVALID_BUILD_OPTIONS, -43)                     \
    X(INVALID_PROGRAM, -44)                           \
    X(INVALID_PROGRAM_EXECUTABLE, -45)                \
    X(INVALID_KERNEL_NAME, -46)                       \
    X(INVALID_KERNEL_DEFINITION, -47)                 \
    X(INVALID_KERNEL, -48)                            \
    X(INVALID_ARG_INDEX, -49)                         \
    X(INVALID_ARG_VALUE, -50)                         \
    X(INVALID_ARG_SIZE, -51)                          \
    X(INVALID_KERNEL_ARGS, -52)                       \
    X(INVALID_WORK_DIMENSION, -53)                    \
    X(INVALID_WORK_GROUP_SIZE, -54)                   \
    X(INVALID_WORK_ITEM_SIZE, -55)                    \
    X(INVALID_GLOBAL_OFFSET, -56)                     \
    X(INVALID_EVENT_WAIT_LIST, -57)                   \
    X(INVALID_EVENT, -58)                             \
    X(INVALID_OPERATION, -59)                         \
    X(INVALID_GL_OBJECT, -60)                         \
    X(INVALID_BUFFER_SIZE, -61)                       \
    X(INVALID_MIP_LEVEL, -62)                         \
    X(INVALID_GLOBAL_WORK_SIZE, -63)                  \
    X(INVALID_PROPERTY, -64)                          \
    X(INVALID_IMAGE_DESCRIPTOR, -65)                  \
    X(INVALID_COMPILER_OPTIONS, -66)                  \
    X(INVALID_LINKER_OPTIONS, -67)                    \
    X(INVALID_DEVICE_PARTITION_COUNT, -68)            \
    X(INVALID_PIPE_SIZE, -69)                         \
    X(INVALID_DEVICE_QUEUE, -70)                      \
    X(INVALID_SPEC_ID, -71)                           \
    X(MAX_SIZE_RESTRICTION_EXCEEDED, -72)             \
    X(PLATFORM_NOT_FOUND_KHR, -1001)

#define CLBLAST_ERRORS(X)              \
    X(NotImplemented, -1024)           \
    X(InvalidMatrixA, -1022)           \
    X(InvalidMatrixB, -1021)           \
    X(InvalidMatrixC, -1020)           \
    X(InvalidVectorX, -1019)           \
    X(InvalidVectorY, -1018)           \
    X(InvalidDimension, -1017)         \
    X(InvalidLeadDimA, -1016)          \
    X(InvalidLeadDimB, -1015)          \
    X(InvalidLeadDimC, -1014)          \
    X(InvalidIncrementX, -1013)        \
    X(InvalidIncrementY, -1012)        \
    X(InsufficientMemoryA, -1011)      \
    X(InsufficientMemoryB, -1010)      \
    X(InsufficientMemoryC, -1009)      \
    X(InsufficientMemoryX, -1008)      \
    X(InsufficientMemoryY, -1007)      \
    X(InsufficientMemoryTemp, -2050)   \
    X(InvalidBatchCount, -2049)        \
    X(InvalidOverrideKernel, -2048)    \
    X(MissingOverrideParameter, -2047) \
    X(InvalidLocalMemUsage, -2046)     \
    X(NoHalfPrecision, -2045)          \
    X(NoDoublePrecision, -2044)        \
    X(InvalidVectorScalar, -2043)      \
    X(InsufficientMemoryScalar, -2042) \
    X(DatabaseError, -2041)            \
    X(UnknownError, -2040)             \
    X(UnexpectedError, -2039)

const char *ocl_error_name(int error)
{
    static _Thread_local char other[32];

    switch (error) {
#define NAME(name, number) \
    case number:           \
        return "CL_" #name;
        OPENCL_ERRORS(NAME)
#undef NAME
#define NAME(name, number) \
    case number:           \
        return "CLBlast" #name;
        CLBLAST_ERRORS(NAME)
#undef NAME
    default:
        snprintf(other, sizeof(other), "error %d", error);
        return other;
    }
}

int ocl_error_code(int error)
{
    switch (error) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return FERRY_ENOMEM;
    case CL_DEVICE_NOT_AVAILABLE:
        return FERRY_ELOST;
    case CL_INVALID_VALUE:
    case CL_INVALID_MEM_OBJECT:
    case CL_MEM_COPY_OVERLAP:
        return FERRY_EINVAL;
    default:
        return FERRY_EDEVICE;
    }
}

int ocl_fail(const char *call, int error)
{
    return ocl_host->error(ocl_error_code(error), "%s: %s", call, ocl_error_name(error));
}
