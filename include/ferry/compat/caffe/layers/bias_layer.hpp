/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/bias_layer.hpp
 * BiasLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BIAS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BIAS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Adds a parameter, or bottom 1, along some axes. */
FERRY_CAFFE_LAYER(Bias);

} // namespace caffe

#endif
