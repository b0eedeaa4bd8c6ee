/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/device_alternate.hpp
 * The macros with which layers without kernels define their _gpu functions. CUDA's headers are not
 * included: a program with kernels of its own includes them itself. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_DEVICE_ALTERNATE_HPP
#define FERRY_COMPAT_CAFFE_UTIL_DEVICE_ALTERNATE_HPP

#include <ferry/compat/caffe/common.hpp>

#ifdef CPU_ONLY

/** Defines Forward_gpu and Backward_gpu of a layer class as failures. */
#define STUB_GPU(classname)                                                                  \
    template <typename Dtype>                                                                \
    void classname<Dtype>::Forward_gpu(const vector<Blob<Dtype> *> &,                        \
                                       const vector<Blob<Dtype> *> &)                        \
    {                                                                                        \
        NO_GPU;                                                                              \
    }                                                                                        \
    template <typename Dtype>                                                                \
    void classname<Dtype>::Backward_gpu(const vector<Blob<Dtype> *> &, const vector<bool> &, \
                                        const vector<Blob<Dtype> *> &)                       \
    {                                                                                        \
        NO_GPU;                                                                              \
    }
/** Defines NAME_gpu as a function without GPU, as the macro above does for both passes. */
#define STUB_GPU_FORWARD(classname, name)                            \
    template <typename Dtype>                                        \
    void classname<Dtype>::name##_gpu(const vector<Blob<Dtype> *> &, \
                                      const vector<Blob<Dtype> *> &) \
    {                                                                \
        NO_GPU;                                                      \
    }
#define STUB_GPU_BACKWARD(classname, name)                                                 \
    template <typename Dtype>                                                              \
    void classname<Dtype>::name##_gpu(const vector<Blob<Dtype> *> &, const vector<bool> &, \
                                      const vector<Blob<Dtype> *> &)                       \
    {                                                                                      \
        NO_GPU;                                                                            \
    }

#endif

#endif
