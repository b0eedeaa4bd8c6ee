/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/base_conv_layer.hpp BaseConvolutionLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BASE_CONV_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BASE_CONV_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/**
 * The base class of convolutions and deconvolutions: ferry computes both, and there is nothing to
 * override.
 */
template <typename Dtype> using BaseConvolutionLayer = FerryLayer<Dtype>;

} // namespace caffe

#endif
