/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/loss_layer.hpp
 * The base class of losses that a program defines. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_LOSS_LAYER_HPP

#include <ferry/compat/caffe/layer_base.hpp>

namespace caffe
{

/** The smallest number that losses take the logarithm of. */
const float kLOG_THRESHOLD = 1e-20F;

/**
 * A loss: a scalar computed from predictions and labels with the same first dimension; its default
 * weight is 1.
 */
template <typename Dtype> class LossLayer : public Layer<Dtype>
{
  public:
    explicit LossLayer(const LayerParameter &param) : Layer<Dtype>(param)
    {
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &)
    {
        if (this->layer_param_.loss_weight_size() == 0)
            this->layer_param_.add_loss_weight(1);
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        CHECK_EQ(bottom[0]->shape(0), bottom[1]->shape(0))
            << "The data and label should have the same first dimension.";
        top[0]->Reshape(vector<int>());
    }
    virtual int ExactNumBottomBlobs() const
    {
        return 2;
    }
    virtual int ExactNumTopBlobs() const
    {
        return 1;
    }
    virtual bool AutoTopBlobs() const
    {
        return true;
    }
    virtual bool AllowForceBackward(int bottom_index) const
    {
        return bottom_index != 1;
    }
};

} // namespace caffe

#endif
