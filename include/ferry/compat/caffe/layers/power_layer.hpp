/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/power_layer.hpp
 * PowerLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_POWER_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_POWER_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = (shift + scale x) ^ power. */
FERRY_CAFFE_LAYER(Power);

} // namespace caffe

#endif
