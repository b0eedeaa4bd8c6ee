/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/neuron_layer.hpp
 * The base class of element-wise layers that a program defines. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_NEURON_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_NEURON_LAYER_HPP

#include <ferry/compat/caffe/layer_base.hpp>

namespace caffe
{

/** One bottom, and one top of the same shape. */
template <typename Dtype> class NeuronLayer : public Layer<Dtype>
{
  public:
    explicit NeuronLayer(const LayerParameter &param) : Layer<Dtype>(param)
    {
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        top[0]->ReshapeLike(*bottom[0]);
    }
    virtual int ExactNumBottomBlobs() const
    {
        return 1;
    }
    virtual int ExactNumTopBlobs() const
    {
        return 1;
    }
};

} // namespace caffe

#endif
