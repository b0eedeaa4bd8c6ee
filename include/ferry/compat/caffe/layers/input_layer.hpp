/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/input_layer.hpp
 * InputLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_INPUT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_INPUT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Blobs that the program fills. */
FERRY_CAFFE_LAYER(Input);

} // namespace caffe

#endif
