/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/cudnn_lrn_layer.hpp CuDNNLRNLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CUDNN_LRN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CUDNN_LRN_LAYER_HPP

#include <ferry/compat/caffe/layers/lrn_layer.hpp>

namespace caffe
{

/** The CUDA plugin uses cuDNN where it is faster, so this is the same class. */
template <typename Dtype> using CuDNNLRNLayer = LRNLayer<Dtype>;

} // namespace caffe

#endif
