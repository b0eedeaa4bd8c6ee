/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/scale_layer.hpp
 * ScaleLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SCALE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SCALE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Multiplies by a parameter, or bottom 1, along some axes. */
FERRY_CAFFE_LAYER(Scale);

} // namespace caffe

#endif
