/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/accuracy_layer.hpp
 * AccuracyLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_ACCURACY_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_ACCURACY_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The fraction of correct predictions, in total and for each label. */
FERRY_CAFFE_LAYER(Accuracy);

} // namespace caffe

#endif
