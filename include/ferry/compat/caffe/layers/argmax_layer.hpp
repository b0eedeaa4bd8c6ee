/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/argmax_layer.hpp
 * ArgMaxLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_ARGMAX_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_ARGMAX_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The indices of the largest elements, and their values. */
FERRY_CAFFE_LAYER(ArgMax);

} // namespace caffe

#endif
