/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/tanh_layer.hpp
 * TanHLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_TANH_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_TANH_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = tanh(x). */
FERRY_CAFFE_LAYER(TanH);

} // namespace caffe

#endif
