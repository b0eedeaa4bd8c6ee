/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/pooling_layer.hpp
 * PoolingLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_POOLING_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_POOLING_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The maximum or the mean of windows, or a random element. */
FERRY_CAFFE_LAYER(Pooling);

} // namespace caffe

#endif
