/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/flatten_layer.hpp
 * FlattenLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_FLATTEN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_FLATTEN_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Merges axes into one. */
FERRY_CAFFE_LAYER(Flatten);

} // namespace caffe

#endif
