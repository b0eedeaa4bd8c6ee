/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/image_data_layer.hpp
 * ImageDataLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_IMAGE_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_IMAGE_DATA_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Pictures from a list. */
FERRY_CAFFE_LAYER(ImageData);

} // namespace caffe

#endif
