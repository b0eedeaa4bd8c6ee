/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/swish_layer.hpp
 * SwishLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SWISH_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SWISH_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = x sigmoid(beta x). */
FERRY_CAFFE_LAYER(Swish);

} // namespace caffe

#endif
