/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the two files of cuDNN's double share. cuDNN's calls are declared in the files:
 * the vendor's header need not be installed.
 */
#ifndef FERRY_CUDA_DOUBLE_CUDNN_H
#define FERRY_CUDA_DOUBLE_CUDNN_H

#include "double.h"

#define AXES 8

typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_INTERNAL_ERROR = 4000,
    CUDNN_STATUS_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_EXECUTION_FAILED = 5000
} cudnnStatus_t;

enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3 };

struct handle {
    unsigned magic;
    void *context;
    cudaStream_t stream;
};

enum { TENSOR = 1, FILTER, WINDOW };

struct shape {
    unsigned magic;
    int kind;
    int rank, size[AXES], stride[AXES];
    int pad[AXES], step[AXES], dilation[AXES], group, math; /* of a window */
    bool is_set;
};

/*
 * cudnn.c: reports an error of use; converts a code of the runtime to a status; starts a call with
 * a handle.
 */
cudnnStatus_t refuse(const char *call, const char *what);
cudnnStatus_t status_of(int error);
cudnnStatus_t begin(const char *call, struct handle *h);

#endif
