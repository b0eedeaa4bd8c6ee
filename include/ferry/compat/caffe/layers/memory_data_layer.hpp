/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/memory_data_layer.hpp
 * MemoryData: batches from arrays of the program. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_MEMORY_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_MEMORY_DATA_LAYER_HPP

#include <ferry/compat/caffe/layers/base_data_layer.hpp>

namespace caffe
{

/**
 * Provides batch after batch of the data last set by Reset, AddDatumVector or AddMatVector, and
 * restarts after the last. In a net whose program calls none of them the tops are inputs, which the
 * program fills.
 */
template <typename Dtype> class MemoryDataLayer : public BaseDataLayer<Dtype>
{
  public:
    explicit MemoryDataLayer(const LayerParameter &param)
        : BaseDataLayer<Dtype>(param),
          batch_size_(static_cast<int>(param.memory_data_param().batch_size())),
          channels_(static_cast<int>(param.memory_data_param().channels())),
          height_(static_cast<int>(param.memory_data_param().height())),
          width_(static_cast<int>(param.memory_data_param().width())),
          size_(channels_ * height_ * width_), data_(nullptr), labels_(nullptr), n_(0), pos_(0),
          has_new_data_(false)
    {
    }
    virtual void DataLayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &top)
    {
        CHECK_GT(batch_size_ * size_, 0) << "batch_size, channels, height, and width must be "
                                            "specified and positive in memory_data_param";
        shape(top);
    }
    virtual const char *type() const
    {
        return "MemoryData";
    }
    virtual int ExactNumBottomBlobs() const
    {
        return 0;
    }
    virtual int ExactNumTopBlobs() const
    {
        return 2;
    }

    /**
     * Adds transformed records, a multiple of the batch size; data added before must be consumed.
     */
    virtual void AddDatumVector(const vector<Datum> &datum_vector)
    {
        begin(datum_vector.size());
        transformer()->Transform(datum_vector, &added_data_);
        for (size_t i = 0; i < datum_vector.size(); i++)
            added_label_.mutable_cpu_data()[i] = static_cast<Dtype>(datum_vector[i].label());
        end(datum_vector.size());
    }
#ifdef USE_OPENCV
    virtual void AddMatVector(const vector<cv::Mat> &mat_vector, const vector<int> &labels)
    {
        begin(mat_vector.size());
        transformer()->Transform(mat_vector, &added_data_);
        for (size_t i = 0; i < mat_vector.size(); i++)
            added_label_.mutable_cpu_data()[i] = static_cast<Dtype>(labels.at(i));
        end(mat_vector.size());
    }
#endif
    /**
     * Sets n items, a multiple of the batch size, without transformation: the caller's memory,
     * borrowed until the next Reset.
     */
    void Reset(Dtype *data, Dtype *label, int n)
    {
        CHECK(data);
        CHECK(label);
        CHECK_EQ(n % batch_size_, 0) << "n must be a multiple of batch size";
        if (this->layer_param_.has_transform_param())
            LOG(WARNING) << this->type() << " does not transform array data on Reset()";
        data_ = data;
        labels_ = label;
        n_ = n;
        pos_ = 0;
    }
    /** The size of the next batches; not allowed while added items are left. */
    void set_batch_size(int new_size)
    {
        CHECK(!has_new_data_) << "Can't change batch_size until current data has been consumed.";
        batch_size_ = new_size;
        added_data_.Reshape(batch_size_, channels_, height_, width_);
        added_label_.Reshape(vector<int>(1, batch_size_));
    }
    int batch_size()
    {
        return batch_size_;
    }
    int channels()
    {
        return channels_;
    }
    int height()
    {
        return height_;
    }
    int width()
    {
        return width_;
    }
    /** Not in Caffe: copies the next batch into a net's blobs, if the program has set data. */
    void Feed(const vector<Blob<Dtype> *> &top)
    {
        if (data_)
            Forward_cpu(vector<Blob<Dtype> *>(), top);
    }

  protected:
    virtual void Forward_cpu(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &top)
    {
        CHECK(data_) << "MemoryDataLayer needs to be initialized by calling Reset";
        shape(top);
        top[0]->set_cpu_data(data_ + pos_ * size_);
        top[1]->set_cpu_data(labels_ + pos_);
        pos_ = (pos_ + batch_size_) % n_;
        if (pos_ == 0)
            has_new_data_ = false;
    }

    int batch_size_, channels_, height_, width_, size_;
    Dtype *data_, *labels_;
    int n_, pos_;
    Blob<Dtype> added_data_, added_label_;
    bool has_new_data_;

  private:
    void shape(const vector<Blob<Dtype> *> &top) const
    {
        top[0]->Reshape(batch_size_, channels_, height_, width_);
        top[1]->Reshape(vector<int>(1, batch_size_));
    }
    DataTransformer<Dtype> *transformer()
    {
        if (!this->data_transformer_) {
            this->data_transformer_.reset(
                new DataTransformer<Dtype>(this->transform_param_, this->phase_));
            this->data_transformer_->InitRand();
        }
        return this->data_transformer_.get();
    }
    void begin(size_t count)
    {
        const int n = static_cast<int>(count);

        CHECK(!has_new_data_) << "Can't add data until current data has been consumed.";
        CHECK_GT(n, 0) << "There is no datum to add.";
        CHECK_EQ(n % batch_size_, 0) << "The added data must be a multiple of the batch size.";
        added_data_.Reshape(n, channels_, height_, width_);
        added_label_.Reshape(vector<int>(1, n));
    }
    void end(size_t count)
    {
        data_ = added_data_.mutable_cpu_data();
        labels_ = added_label_.mutable_cpu_data();
        n_ = static_cast<int>(count);
        pos_ = 0;
        has_new_data_ = true;
    }
};

} // namespace caffe

#endif
