/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/cudnn_lcn_layer.hpp CuDNNLCNLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CUDNN_LCN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CUDNN_LCN_LAYER_HPP

#include <ferry/compat/caffe/layers/lrn_layer.hpp>

namespace caffe
{

/** The plugin of a CUDA device chooses cuDNN where it is the faster one: there is one class. */
template <typename Dtype> using CuDNNLCNLayer = LRNLayer<Dtype>;

} // namespace caffe

#endif
