/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/contrastive_loss_layer.hpp
 * ContrastiveLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CONTRASTIVE_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CONTRASTIVE_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The loss of pairs that should be near or far. */
FERRY_CAFFE_LAYER(ContrastiveLoss);

} // namespace caffe

#endif
