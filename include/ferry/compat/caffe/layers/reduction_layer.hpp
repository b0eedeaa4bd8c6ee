/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/reduction_layer.hpp
 * ReductionLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_REDUCTION_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_REDUCTION_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Sum, sum of absolute values or of squares, or mean, over trailing axes. */
FERRY_CAFFE_LAYER(Reduction);

} // namespace caffe

#endif
