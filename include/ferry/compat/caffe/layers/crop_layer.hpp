/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/crop_layer.hpp
 * CropLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_CROP_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_CROP_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Bottom 0 cropped to the size of bottom 1. */
FERRY_CAFFE_LAYER(Crop);

} // namespace caffe

#endif
