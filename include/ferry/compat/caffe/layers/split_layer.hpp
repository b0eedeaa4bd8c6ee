/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/split_layer.hpp
 * SplitLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SPLIT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SPLIT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Each top is the bottom. */
FERRY_CAFFE_LAYER(Split);

} // namespace caffe

#endif
