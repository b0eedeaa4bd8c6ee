/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/concat_layer.hpp
 * ConcatLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CONCAT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CONCAT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Concatenates bottoms along an axis. */
FERRY_CAFFE_LAYER(Concat);

} // namespace caffe

#endif
