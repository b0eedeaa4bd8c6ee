/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/dummy_data_layer.hpp
 * DummyDataLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_DUMMY_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_DUMMY_DATA_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

#include <algorithm>

namespace caffe
{

/** Tops filled by fillers; constant ones are filled when SetUp returns. */
template <typename Dtype> class DummyDataLayer : public FerryLayer<Dtype>
{
  public:
    explicit DummyDataLayer(const LayerParameter &param)
        : FerryLayer<Dtype>(param, "DummyData"), filled_(false)
    {
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        FerryLayer<Dtype>::Reshape(bottom, top);
        for (size_t i = 0; i < top.size() && !filled_; i++)
            fill(this->layer_param_.dummy_data_param(), static_cast<int>(i), top[i]);
        filled_ = true;
    }

  private:
    static void fill(const DummyDataParameter &param, int index, Blob<Dtype> *top)
    {
        const int fillers = param.data_filler_size();
        const FillerParameter standard,
            &filler = fillers ? param.data_filler(std::min(index, fillers - 1)) : standard;

        if (filler.type() == "constant")
            std::fill_n(top->mutable_cpu_data(), top->count(), static_cast<Dtype>(filler.value()));
    }

    bool filled_;
};

} // namespace caffe

#endif
