/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The double of cuDNN 9 for convolutions: handles and descriptors. Uses that its documentation
 * forbids end the program.
 */
#include "cudnn.h"

#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x646e6e21u

cudnnStatus_t refuse(const char *call, const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s: %s", call, what);
    ferry_cuda_double_misuse(text);
    return CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t status_of(int error)
{
    if (error > CUDA_DOUBLE_STATUS)
        return (cudnnStatus_t)(error - CUDA_DOUBLE_STATUS);
    return error == cudaSuccess                 ? CUDNN_STATUS_SUCCESS
           : error == cudaErrorMemoryAllocation ? CUDNN_STATUS_DEVICE_ALLOCATION_FAILED
           : error == cudaErrorInvalidValue     ? CUDNN_STATUS_BAD_PARAM
                                                : CUDNN_STATUS_EXECUTION_FAILED;
}

const char *cudnnGetErrorString(cudnnStatus_t status);
const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS                    ? "CUDNN_STATUS_SUCCESS"
           : status == CUDNN_STATUS_NOT_INITIALIZED          ? "CUDNN_STATUS_NOT_INITIALIZED"
           : status == CUDNN_STATUS_BAD_PARAM                ? "CUDNN_STATUS_BAD_PARAM"
           : status == CUDNN_STATUS_NOT_SUPPORTED            ? "CUDNN_STATUS_NOT_SUPPORTED"
           : status == CUDNN_STATUS_DEVICE_ALLOCATION_FAILED ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_"
                                                               "ALLOCATION_FAILED"
           : status == CUDNN_STATUS_EXECUTION_FAILED         ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                             : "CUDNN_STATUS_INTERNAL_ERROR";
}

/* ---- handles -------------------------------------------------------------------------------- */

cudnnStatus_t begin(const char *call, struct handle *h)
{
    if (!h || h->magic != MAGIC)
        return refuse(call, "no handle");
    return status_of(ferry_cuda_double_enter(call, &h->context));
}

cudnnStatus_t cudnnCreate(struct handle **out);
cudnnStatus_t cudnnCreate(struct handle **out)
{
    struct handle *h = calloc(1, sizeof(*h));
    cudnnStatus_t status;

    if (!h)
        return CUDNN_STATUS_NOT_INITIALIZED;
    h->magic = MAGIC;
    status = begin("cudnnCreate", h);
    if (status != CUDNN_STATUS_SUCCESS) {
        free(h);
        return status == CUDNN_STATUS_DEVICE_ALLOCATION_FAILED ? CUDNN_STATUS_NOT_INITIALIZED
                                                               : status;
    }
    ferry_cuda_double_handle(h->context, 1);
    *out = h;
    return status;
}

cudnnStatus_t cudnnDestroy(struct handle *h);
cudnnStatus_t cudnnDestroy(struct handle *h)
{
    cudnnStatus_t status = begin("cudnnDestroy", h);

    if (status == CUDNN_STATUS_BAD_PARAM)
        return status;
    h->magic = 0;
    ferry_cuda_double_handle(h->context, -1);
    free(h);
    return status;
}

cudnnStatus_t cudnnSetStream(struct handle *h, cudaStream_t stream);
cudnnStatus_t cudnnSetStream(struct handle *h, cudaStream_t stream)
{
    cudnnStatus_t status = begin("cudnnSetStream", h);

    if (status == CUDNN_STATUS_SUCCESS)
        h->stream = stream;
    return status;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static cudnnStatus_t make(const char *call, int kind, struct shape **out)
{
    int failed = ferry_cuda_double_note(call);
    struct shape *s = failed ? NULL : calloc(1, sizeof(*s));

    if (!s)
        return CUDNN_STATUS_DEVICE_ALLOCATION_FAILED;
    s->magic = MAGIC;
    s->kind = kind;
    s->group = 1;
    ferry_cuda_double_handle(NULL, 1);
    *out = s;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t end(const char *call, struct shape *s, int kind)
{
    if (!s || s->magic != MAGIC || s->kind != kind)
        return refuse(call, "no such descriptor");
    s->magic = 0;
    ferry_cuda_double_handle(NULL, -1);
    free(s);
    return CUDNN_STATUS_SUCCESS;
}

#define DESCRIPTOR(name, kind)                                       \
    cudnnStatus_t cudnnCreate##name##Descriptor(struct shape **out); \
    cudnnStatus_t cudnnCreate##name##Descriptor(struct shape **out)  \
    {                                                                \
        return make("cudnnCreate" #name "Descriptor", kind, out);    \
    }                                                                \
    cudnnStatus_t cudnnDestroy##name##Descriptor(struct shape *s);   \
    cudnnStatus_t cudnnDestroy##name##Descriptor(struct shape *s)    \
    {                                                                \
        return end("cudnnDestroy" #name "Descriptor", s, kind);      \
    }

DESCRIPTOR(Tensor, TENSOR)
DESCRIPTOR(Filter, FILTER)
DESCRIPTOR(Convolution, WINDOW)

static cudnnStatus_t set_shape(const char *call, struct shape *s, int rank, const int *size,
                               const int *stride)
{
    if (rank < 4 || rank > AXES)
        return refuse(call, "fewer than four dimensions, or more than eight");
    s->rank = rank;
    for (int i = rank - 1; i >= 0; i--) {
        s->size[i] = size[i];
        s->stride[i] = stride ? stride[i] : i + 1 < rank ? s->stride[i + 1] * s->size[i + 1] : 1;
        if (size[i] < 1 || s->stride[i] < 1)
            return refuse(call, "a dimension or a stride below 1");
    }
    s->is_set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(struct shape *s, int type, int rank, const int *size,
                                         const int *stride);
cudnnStatus_t cudnnSetTensorNdDescriptor(struct shape *s, int type, int rank, const int *size,
                                         const int *stride)
{
    if (type != 0 || !s || s->kind != TENSOR)
        return refuse("cudnnSetTensorNdDescriptor", "not floats, or not a tensor");
    return set_shape("cudnnSetTensorNdDescriptor", s, rank, size, stride);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(struct shape *s, int type, int format, int rank,
                                         const int *size);
cudnnStatus_t cudnnSetFilterNdDescriptor(struct shape *s, int type, int format, int rank,
                                         const int *size)
{
    if (type != 0 || format != 0 || !s || s->kind != FILTER)
        return refuse("cudnnSetFilterNdDescriptor", "not floats, not NCHW, or not a filter");
    return set_shape("cudnnSetFilterNdDescriptor", s, rank, size, NULL);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(struct shape *s, int axes, const int *pad,
                                              const int *step, const int *dilation, int mode,
                                              int type);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(struct shape *s, int axes, const int *pad,
                                              const int *step, const int *dilation, int mode,
                                              int type)
{
    if (axes < 2 || axes > AXES - 2 || mode != 1 || type != 0 || !s || s->kind != WINDOW)
        return refuse("cudnnSetConvolutionNdDescriptor",
                      "wrong axes, mode or type, or not a window");
    s->rank = axes;
    s->math = DEFAULT_MATH;
    s->is_set = true;
    for (int i = 0; i < axes; i++) {
        s->pad[i] = pad[i];
        s->step[i] = step[i];
        s->dilation[i] = dilation[i];
        if (pad[i] < 0 || step[i] < 1 || dilation[i] < 1)
            return refuse("cudnnSetConvolutionNdDescriptor", "a pad below 0, or a stride below 1");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(struct shape *s, int group);
cudnnStatus_t cudnnSetConvolutionGroupCount(struct shape *s, int group)
{
    s->group = group;
    return group > 0 ? CUDNN_STATUS_SUCCESS : refuse("cudnnSetConvolutionGroupCount", "below 1");
}

cudnnStatus_t cudnnSetConvolutionMathType(struct shape *s, int math);
cudnnStatus_t cudnnSetConvolutionMathType(struct shape *s, int math)
{
    s->math = math;
    return CUDNN_STATUS_SUCCESS;
}
