/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/reshape_layer.hpp
 * ReshapeLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_RESHAPE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_RESHAPE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Gives the elements another shape. */
FERRY_CAFFE_LAYER(Reshape);

} // namespace caffe

#endif
