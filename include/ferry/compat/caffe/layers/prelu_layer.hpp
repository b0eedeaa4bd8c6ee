/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/prelu_layer.hpp
 * PReLULayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_PRELU_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_PRELU_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = x, or a parameter times x below 0. */
FERRY_CAFFE_LAYER(PReLU);

} // namespace caffe

#endif
