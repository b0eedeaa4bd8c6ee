/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/slice_layer.hpp
 * SliceLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SLICE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SLICE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Splits the bottom into tops along an axis. */
FERRY_CAFFE_LAYER(Slice);

} // namespace caffe

#endif
