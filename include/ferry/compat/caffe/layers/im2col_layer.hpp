/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/im2col_layer.hpp
 * Im2colLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_IM2COL_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_IM2COL_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** The windows of a convolution as columns. */
FERRY_CAFFE_LAYER(Im2col);

} // namespace caffe

#endif
