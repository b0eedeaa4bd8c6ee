/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/dropout_layer.hpp
 * DropoutLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_DROPOUT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_DROPOUT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** In TRAIN sets elements to 0 at random. */
FERRY_CAFFE_LAYER(Dropout);

} // namespace caffe

#endif
