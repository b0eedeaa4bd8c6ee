/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/silence_layer.hpp
 * SilenceLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SILENCE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SILENCE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** No operation: it keeps its bottoms from becoming outputs of the net. */
FERRY_CAFFE_LAYER(Silence);

} // namespace caffe

#endif
