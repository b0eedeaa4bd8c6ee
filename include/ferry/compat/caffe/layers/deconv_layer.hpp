/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/deconv_layer.hpp
 * DeconvolutionLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_DECONV_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_DECONV_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Transposed convolution. */
FERRY_CAFFE_LAYER(Deconvolution);

} // namespace caffe

#endif
