/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/embed_layer.hpp
 * EmbedLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_EMBED_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_EMBED_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** A row of the parameter for each index. */
FERRY_CAFFE_LAYER(Embed);

} // namespace caffe

#endif
