/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/hdf5_output_layer.hpp
 * HDF5OutputLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_HDF5_OUTPUT_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_HDF5_OUTPUT_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/* The names of the datasets in the file. */
#define HDF5_DATA_DATASET_NAME "data"
#define HDF5_DATA_LABEL_NAME   "label"

/** Writes its bottoms, data and labels, to an HDF5 file. */
template <typename Dtype> class HDF5OutputLayer : public FerryLayer<Dtype>
{
  public:
    explicit HDF5OutputLayer(const LayerParameter &param) : FerryLayer<Dtype>(param, "HDF5Output")
    {
    }
    string file_name() const
    {
        return this->layer_param_.hdf5_output_param().file_name();
    }

  protected:
    /**
     * Without a folder chosen by the program any folder is allowed, since the program created the
     * layer itself.
     */
    virtual string WritesTo() const
    {
        return Caffe::allow_write().empty() ? "/" : Caffe::allow_write();
    }
};

} // namespace caffe

#endif
