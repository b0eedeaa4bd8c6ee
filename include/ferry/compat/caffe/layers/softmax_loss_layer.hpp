/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/softmax_loss_layer.hpp
 * SoftmaxWithLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SOFTMAX_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SOFTMAX_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The multinomial logistic loss of a softmax. */
FERRY_CAFFE_LAYER(SoftmaxWithLoss);

} // namespace caffe

#endif
