/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/hinge_loss_layer.hpp
 * HingeLossLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_HINGE_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_HINGE_LOSS_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The hinge loss, L1 or L2. */
FERRY_CAFFE_LAYER(HingeLoss);

} // namespace caffe

#endif
