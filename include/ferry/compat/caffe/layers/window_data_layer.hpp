/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/window_data_layer.hpp WindowDataLayer. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_WINDOW_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_WINDOW_DATA_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Windows of pictures, as a window file lists them. */
FERRY_CAFFE_LAYER(WindowData);

} // namespace caffe

#endif
