/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/clip_layer.hpp
 * ClipLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CLIP_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CLIP_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** y = x between two bounds. */
FERRY_CAFFE_LAYER(Clip);

} // namespace caffe

#endif
