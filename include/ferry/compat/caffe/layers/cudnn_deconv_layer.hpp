/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/cudnn_deconv_layer.hpp
 * CuDNNDeconvolutionLayer. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CUDNN_DECONV_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CUDNN_DECONV_LAYER_HPP

#include <ferry/compat/caffe/layers/deconv_layer.hpp>

namespace caffe
{

/** The plugin of a CUDA device chooses cuDNN where it is the faster one: there is one class. */
template <typename Dtype> using CuDNNDeconvolutionLayer = DeconvolutionLayer<Dtype>;

} // namespace caffe

#endif
