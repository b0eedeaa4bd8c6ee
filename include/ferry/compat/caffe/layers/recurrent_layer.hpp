/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/recurrent_layer.hpp RecurrentLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_RECURRENT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_RECURRENT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The base class of RNN and LSTM: ferry computes both, and there is nothing to override. */
template <typename Dtype> using RecurrentLayer = FerryLayer<Dtype>;

} // namespace caffe

#endif
