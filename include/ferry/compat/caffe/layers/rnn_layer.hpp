/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/rnn_layer.hpp
 * RNNLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_RNN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_RNN_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** A simple recurrent network over the steps of axis 0. */
FERRY_CAFFE_LAYER(RNN);

} // namespace caffe

#endif
