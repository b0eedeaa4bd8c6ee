/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuDNN computes convolutions, if it can be loaded and option.cudnn allows it. Kernels compute the
 * convolutions that it does not support.
 */
#ifndef FERRY_CUDA_DNN_H
#define FERRY_CUDA_DNN_H

#include "cuda.h"

#include <ferry/op_table.h>

/* ---- the library (dnn.c) ---- */

/* The constants of cuDNN 9 that the plugin uses; the header of cuDNN need not be installed. */
enum {
    DNN_SUCCESS = 0,
    DNN_NOT_INITIALIZED = 1001,
    DNN_PART_OF_ANOTHER_VERSION = 1002,
    DNN_NO_PART = 1008,
    DNN_NO_HOST_MEMORY = 4003,
    DNN_NO_MEMORY = 4004
};
#define DNN_CATEGORY(status) ((status) / 1000)
#define DNN_BAD_PARAM        2
#define DNN_NOT_SUPPORTED    3
#define DNN_INTERNAL         4
#define DNN_EXECUTION        5

enum { DNN_FLOAT = 0, DNN_NCHW = 0, DNN_CROSS_CORRELATION = 1 };
enum { DNN_DEFAULT_MATH = 0, DNN_FMA_MATH = 3, DNN_DETERMINISTIC = 1 };

/* cuDNN's result for an algorithm, the fastest by its estimate first. */
struct dnn_choice {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
};

#define DNN_ENTRIES(X)                                                                             \
    X(create, cudnnCreate, void **)                                                                \
    X(destroy, cudnnDestroy, void *)                                                               \
    X(set_stream, cudnnSetStream, void *, cudaStream_t)                                            \
    X(tensor_create, cudnnCreateTensorDescriptor, void **)                                         \
    X(tensor_set, cudnnSetTensorNdDescriptor, void *, int, int, const int *, const int *)          \
    X(tensor_destroy, cudnnDestroyTensorDescriptor, void *)                                        \
    X(filter_create, cudnnCreateFilterDescriptor, void **)                                         \
    X(filter_set, cudnnSetFilterNdDescriptor, void *, int, int, int, const int *)                  \
    X(filter_destroy, cudnnDestroyFilterDescriptor, void *)                                        \
    X(convolution_create, cudnnCreateConvolutionDescriptor, void **)                               \
    X(convolution_set, cudnnSetConvolutionNdDescriptor, void *, int, const int *, const int *,     \
      const int *, int, int)                                                                       \
    X(convolution_group, cudnnSetConvolutionGroupCount, void *, int)                               \
    X(convolution_math, cudnnSetConvolutionMathType, void *, int)                                  \
    X(convolution_destroy, cudnnDestroyConvolutionDescriptor, void *)                              \
    X(choices, cudnnGetConvolutionForwardAlgorithm_v7, void *, void *, void *, void *, void *,     \
      int, int *, struct dnn_choice *)                                                             \
    X(forward, cudnnConvolutionForward, void *, const void *, void *, const void *, void *,        \
      const void *, void *, int, void *, size_t, const void *, void *, void *)                     \
    X(data_choices, cudnnGetConvolutionBackwardDataAlgorithm_v7, void *, void *, void *, void *,   \
      void *, int, int *, struct dnn_choice *)                                                     \
    X(data, cudnnConvolutionBackwardData, void *, const void *, void *, const void *, void *,      \
      const void *, void *, int, void *, size_t, const void *, void *, void *)                     \
    X(weights_choices, cudnnGetConvolutionBackwardFilterAlgorithm_v7, void *, void *, void *,      \
      void *, void *, int, int *, struct dnn_choice *)                                             \
    X(weights, cudnnConvolutionBackwardFilter, void *, const void *, void *, const void *, void *, \
      const void *, void *, int, void *, size_t, const void *, void *, void *)                     \
    X(add, cudnnAddTensor, void *, const void *, void *, const void *, const void *, void *, void *)

struct cuda_dnn_table {
#define DNN_MEMBER(member, function, ...) int (*member)(__VA_ARGS__);
    DNN_ENTRIES(DNN_MEMBER)
#undef DNN_MEMBER
    const char *(*error)(int);
};
extern struct cuda_dnn_table cuda_dnn;

/* Loads cuDNN, once per process. */
bool cuda_dnn_load(void);
/*
 * Reports a failure with cuDNN's description and returns ferry's code. Called with the context
 * current.
 */
int cuda_fail_dnn(const char *call, int status, cudaStream_t stream);
/* The cuDNN handle of a queue, created at the first call. Called with the context current. */
int cuda_dnn_handle(struct cuda_queue *queue, void **out);
/* Destroys a handle. Called with the context current. */
void cuda_dnn_release(void *handle);

/* ---- convolutions (convolution.c) ---- */

struct cuda_convolution;

/*
 * Whether cuDNN is used for `op`, and the answer to the query in that case. Nothing is allocated.
 */
bool cuda_convolution_query(const struct cuda_device *dev, const ferry_op_desc *op,
                            ferry_op_answer *out);
/*
 * Creates the convolution. Called with the context current. FERRY_EUNSUPPORTED: cuDNN has no
 * suitable algorithm.
 */
int cuda_convolution_create(struct cuda_device *dev, const ferry_op_desc *op,
                            struct cuda_convolution **out);
int cuda_convolution_run(struct cuda_queue *queue, const struct cuda_convolution *c,
                         const ferry_op_run_args *args);
void cuda_convolution_destroy(struct cuda_convolution *c);

#endif
