/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/mvn_layer.hpp
 * MVNLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_MVN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_MVN_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Normalizes each channel of an item to mean 0 and variance 1. */
FERRY_CAFFE_LAYER(MVN);

} // namespace caffe

#endif
