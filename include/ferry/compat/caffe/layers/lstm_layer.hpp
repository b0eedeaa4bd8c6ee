/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/lstm_layer.hpp
 * LSTMLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_LSTM_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_LSTM_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Long short-term memory over the steps of axis 0. */
FERRY_CAFFE_LAYER(LSTM);

/** One step of an LSTM: from cells, gates and sequence indicators to cells and outputs. */
FERRY_CAFFE_LAYER(LSTMUnit);

} // namespace caffe

#endif
