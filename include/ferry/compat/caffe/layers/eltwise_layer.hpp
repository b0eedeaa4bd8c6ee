/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/eltwise_layer.hpp
 * EltwiseLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_ELTWISE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_ELTWISE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Element-wise sum, product or maximum of bottoms. */
FERRY_CAFFE_LAYER(Eltwise);

} // namespace caffe

#endif
