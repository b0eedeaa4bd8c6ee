/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/filter_layer.hpp
 * FilterLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_FILTER_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_FILTER_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The items of the bottoms that the last bottom selects. */
FERRY_CAFFE_LAYER(Filter);

} // namespace caffe

#endif
