/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/conv_layer.hpp
 * ConvolutionLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CONV_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CONV_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Convolution. */
FERRY_CAFFE_LAYER(Convolution);

} // namespace caffe

#endif
