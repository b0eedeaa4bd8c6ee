/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/sigmoid_cross_entropy_loss_layer.hpp
 * SigmoidCrossEntropyLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The cross entropy of sigmoids. */
FERRY_CAFFE_LAYER(SigmoidCrossEntropyLoss);

} // namespace caffe

#endif
