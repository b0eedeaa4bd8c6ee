/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/parameter_layer.hpp
 * ParameterLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_PARAMETER_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_PARAMETER_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** A parameter as a top. */
FERRY_CAFFE_LAYER(Parameter);

} // namespace caffe

#endif
