/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/cudnn_relu_layer.hpp CuDNNReLULayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CUDNN_RELU_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CUDNN_RELU_LAYER_HPP

#include <ferry/compat/caffe/layers/relu_layer.hpp>

namespace caffe
{

/** The CUDA plugin uses cuDNN where it is faster, so this is the same class. */
template <typename Dtype> using CuDNNReLULayer = ReLULayer<Dtype>;

} // namespace caffe

#endif
