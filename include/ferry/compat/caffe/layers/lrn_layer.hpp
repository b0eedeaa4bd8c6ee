/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/lrn_layer.hpp
 * LRNLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_LRN_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_LRN_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Local response normalization, across or within channels. */
FERRY_CAFFE_LAYER(LRN);

} // namespace caffe

#endif
