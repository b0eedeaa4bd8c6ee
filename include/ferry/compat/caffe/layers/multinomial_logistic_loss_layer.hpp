/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/multinomial_logistic_loss_layer.hpp
 * MultinomialLogisticLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_MULTINOMIAL_LOGISTIC_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_MULTINOMIAL_LOGISTIC_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The multinomial logistic loss of probabilities. */
FERRY_CAFFE_LAYER(MultinomialLogisticLoss);

} // namespace caffe

#endif
