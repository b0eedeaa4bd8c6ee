/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/inner_product_layer.hpp
 * InnerProductLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_INNER_PRODUCT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_INNER_PRODUCT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** A fully connected layer. */
FERRY_CAFFE_LAYER(InnerProduct);

} // namespace caffe

#endif
