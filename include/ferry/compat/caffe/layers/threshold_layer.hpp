/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/threshold_layer.hpp
 * ThresholdLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_THRESHOLD_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_THRESHOLD_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** 1 above a threshold, otherwise 0. */
FERRY_CAFFE_LAYER(Threshold);

} // namespace caffe

#endif
