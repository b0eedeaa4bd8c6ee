/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/log_layer.hpp
 * LogLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_LOG_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_LOG_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = log_base(scale x + shift). */
FERRY_CAFFE_LAYER(Log);

} // namespace caffe

#endif
