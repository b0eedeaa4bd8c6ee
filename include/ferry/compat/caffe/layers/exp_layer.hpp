/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/exp_layer.hpp
 * ExpLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_EXP_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_EXP_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = base ^ (scale x + shift). */
FERRY_CAFFE_LAYER(Exp);

} // namespace caffe

#endif
