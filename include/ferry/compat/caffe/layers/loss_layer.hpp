/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layers/loss_layer.hpp The base of losses that a program writes. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_LOSS_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_LOSS_LAYER_HPP

#include <ferry/compat/caffe/layer_base.hpp>

namespace caffe
{

/** The least number of which a loss takes the logarithm. */
const float kLOG_THRESHOLD = 1e-20F;

/** A loss: of predictions and labels, which have one first dim, one number; its weight is 1 if none is given. */
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
