/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/spp_layer.hpp
 * SPPLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_SPP_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_SPP_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Spatial pyramid pooling. */
FERRY_CAFFE_LAYER(SPP);

} // namespace caffe

#endif
