/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/batch_norm_layer.hpp
 * BatchNormLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BATCH_NORM_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BATCH_NORM_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/**
 * Normalizes each channel to mean 0 and variance 1, with the batch's statistics or the stored ones.
 */
FERRY_CAFFE_LAYER(BatchNorm);

} // namespace caffe

#endif
