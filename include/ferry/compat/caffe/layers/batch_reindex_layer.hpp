/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/batch_reindex_layer.hpp
 * BatchReindexLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BATCH_REINDEX_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BATCH_REINDEX_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Items of bottom 0 in the order of the indices in bottom 1. */
FERRY_CAFFE_LAYER(BatchReindex);

} // namespace caffe

#endif
