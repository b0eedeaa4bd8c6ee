/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/tile_layer.hpp
 * TileLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_TILE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_TILE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Repeats the bottom along an axis. */
FERRY_CAFFE_LAYER(Tile);

} // namespace caffe

#endif
