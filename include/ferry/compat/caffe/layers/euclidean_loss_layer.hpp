/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/euclidean_loss_layer.hpp
 * EuclideanLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_EUCLIDEAN_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_EUCLIDEAN_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Half of the mean squared distance. */
FERRY_CAFFE_LAYER(EuclideanLoss);

} // namespace caffe

#endif
