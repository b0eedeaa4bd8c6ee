/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/base_data_layer.hpp
 * The base classes of data layers that a program defines: with a transformer, and with a prefetch
 * thread. ferry's own data layers (Data, ImageData, HDF5Data) prefetch by themselves and do not
 * derive from these. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_BASE_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_BASE_DATA_LAYER_HPP

#include <ferry/compat/caffe/data_transformer.hpp>
#include <ferry/compat/caffe/internal_thread.hpp>
#include <ferry/compat/caffe/layer_base.hpp>
#include <ferry/compat/caffe/util/blocking_queue.hpp>

namespace caffe
{

/** No bottoms; one top, or two with labels. A class overrides DataLayerSetUp. */
template <typename Dtype> class BaseDataLayer : public Layer<Dtype>
{
  public:
    explicit BaseDataLayer(const LayerParameter &param)
        : Layer<Dtype>(param), transform_param_(param.transform_param()), output_labels_(false)
    {
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        output_labels_ = top.size() > 1;
        data_transformer_.reset(new DataTransformer<Dtype>(transform_param_, this->phase_));
        data_transformer_->InitRand();
        DataLayerSetUp(bottom, top);
    }
    virtual void DataLayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &)
    {
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &)
    {
    }

  protected:
    virtual void Backward_cpu(const vector<Blob<Dtype> *> &, const vector<bool> &,
                              const vector<Blob<Dtype> *> &)
    {
    }

    TransformationParameter transform_param_;
    shared_ptr<DataTransformer<Dtype>> data_transformer_;
    bool output_labels_;
};

/** A prefetched batch. */
template <typename Dtype> class Batch
{
  public:
    Blob<Dtype> data_, label_;
};

/**
 * Prefetches data_param.prefetch batches. A derived class overrides DataLayerSetUp and load_batch,
 * which runs on the prefetch thread, and calls StopInternalThread in its destructor.
 */
template <typename Dtype>
class BasePrefetchingDataLayer : public BaseDataLayer<Dtype>, public InternalThread
{
  public:
    explicit BasePrefetchingDataLayer(const LayerParameter &param)
        : BaseDataLayer<Dtype>(param), prefetch_current_(nullptr)
    {
        for (unsigned i = 0; i < param.data_param().prefetch(); i++) {
            prefetch_.push_back(shared_ptr<Batch<Dtype>>(new Batch<Dtype>()));
            prefetch_free_.push(prefetch_.back().get());
        }
    }
    virtual ~BasePrefetchingDataLayer()
    {
        StopInternalThread();
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        BaseDataLayer<Dtype>::LayerSetUp(bottom, top);
        this->data_transformer_->InitRand();
        StartInternalThread();
    }

  protected:
    virtual void Forward_cpu(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &top)
    {
        if (prefetch_current_)
            prefetch_free_.push(prefetch_current_);
        prefetch_current_ = prefetch_full_.pop("Waiting for data");
        top[0]->CopyFrom(prefetch_current_->data_, false, true);
        if (this->output_labels_)
            top[1]->CopyFrom(prefetch_current_->label_, false, true);
    }
    virtual void InternalThreadEntry()
    {
        try {
            while (!must_stop()) {
                Batch<Dtype> *const batch = prefetch_free_.pop();

                load_batch(batch);
                prefetch_full_.push(batch);
            }
        } catch (const typename BlockingQueue<Batch<Dtype> *>::Interrupted &) {
            prefetch_free_.interrupt(false);
        }
    }
    virtual void InterruptInternalThread()
    {
        prefetch_free_.interrupt(true);
    }
    /** Fills a batch, on the prefetch thread. */
    virtual void load_batch(Batch<Dtype> *batch) = 0;

    vector<shared_ptr<Batch<Dtype>>> prefetch_;
    BlockingQueue<Batch<Dtype> *> prefetch_free_, prefetch_full_;
    Batch<Dtype> *prefetch_current_;
    Blob<Dtype> transformed_data_;
};

} // namespace caffe

#endif
