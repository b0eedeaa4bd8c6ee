/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/cudnn_pooling_layer.hpp CuDNNPoolingLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CUDNN_POOLING_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CUDNN_POOLING_LAYER_HPP

#include <ferry/compat/caffe/layers/pooling_layer.hpp>

namespace caffe
{

/** The CUDA plugin uses cuDNN where it is faster, so this is the same class. */
template <typename Dtype> using CuDNNPoolingLayer = PoolingLayer<Dtype>;

} // namespace caffe

#endif
