/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/relu_layer.hpp
 * ReLULayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_RELU_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_RELU_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = max(x, 0), or negative_slope x below 0. */
FERRY_CAFFE_LAYER(ReLU);

} // namespace caffe

#endif
