/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/elu_layer.hpp
 * ELULayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_ELU_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_ELU_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = x, or alpha (exp(x) - 1) below 0. */
FERRY_CAFFE_LAYER(ELU);

} // namespace caffe

#endif
