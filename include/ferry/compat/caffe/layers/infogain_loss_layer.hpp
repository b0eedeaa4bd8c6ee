/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/infogain_loss_layer.hpp
 * InfogainLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_INFOGAIN_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_INFOGAIN_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The loss weighted by an infogain matrix. */
FERRY_CAFFE_LAYER(InfogainLoss);

} // namespace caffe

#endif
