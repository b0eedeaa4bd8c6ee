/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/hdf5_data_layer.hpp
 * HDF5DataLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_HDF5_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_HDF5_DATA_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** Rows of HDF5 files. */
FERRY_CAFFE_LAYER(HDF5Data);

} // namespace caffe

#endif
