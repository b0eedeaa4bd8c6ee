/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/absval_layer.hpp
 * AbsValLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_ABSVAL_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_ABSVAL_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = |x|. */
FERRY_CAFFE_LAYER(AbsVal);

} // namespace caffe

#endif
