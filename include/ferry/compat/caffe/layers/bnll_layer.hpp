/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/bnll_layer.hpp
 * BNLLLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BNLL_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BNLL_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = log(1 + exp(x)). */
FERRY_CAFFE_LAYER(BNLL);

} // namespace caffe

#endif
