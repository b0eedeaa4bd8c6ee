/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/sigmoid_layer.hpp
 * SigmoidLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SIGMOID_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SIGMOID_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = 1 / (1 + exp(-x)). */
FERRY_CAFFE_LAYER(Sigmoid);

} // namespace caffe

#endif
