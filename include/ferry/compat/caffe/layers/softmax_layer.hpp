/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/softmax_layer.hpp
 * SoftmaxLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SOFTMAX_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SOFTMAX_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Exponentials, normalized to sum 1 along an axis. */
FERRY_CAFFE_LAYER(Softmax);

} // namespace caffe

#endif
