/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/data_layer.hpp
 * DataLayer: records of a database. ferry reads LMDB, in nets and here. With USE_LEVELDB defined, a
 * DataLayer outside of a net also reads LevelDB, with the program's libleveldb. See
 * ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_DATA_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_DATA_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

#ifdef USE_LEVELDB
#include <ferry/compat/caffe/layers/base_data_layer.hpp>
#include <ferry/compat/caffe/util/db.hpp>
#endif

namespace caffe
{

#ifndef USE_LEVELDB

/** Records of a database. */
FERRY_CAFFE_LAYER(Data);

#else

namespace detail
{

/** Records of LevelDB, prefetched. With several solvers each reads every solver_count-th record. */
template <typename Dtype> class LevelDBDataLayer : public BasePrefetchingDataLayer<Dtype>
{
  public:
    explicit LevelDBDataLayer(const LayerParameter &param)
        : BasePrefetchingDataLayer<Dtype>(param),
          count_(param.phase() == TRAIN ? Caffe::solver_count() : 1),
          rank_(param.phase() == TRAIN ? Caffe::solver_rank() : 0)
    {
        db_.Open(param.data_param().source(), db::READ);
        cursor_.reset(db_.NewCursor());
        go(rank_);
    }
    virtual ~LevelDBDataLayer()
    {
        this->StopInternalThread();
    }
    virtual void DataLayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &top)
    {
        top[0]->Reshape(shape_of(record()));
        if (this->output_labels_)
            top[1]->Reshape(vector<int>(1, top[0]->shape(0)));
    }

  protected:
    virtual void load_batch(Batch<Dtype> *batch)
    {
        const int size = static_cast<int>(this->layer_param_.data_param().batch_size());

        batch->label_.Reshape(vector<int>(1, size));
        for (int i = 0; i < size; i++) {
            const Datum datum = record();

            if (i == 0) {
                batch->data_.Reshape(shape_of(datum));
                this->transformed_data_.Reshape(this->data_transformer_->InferBlobShape(datum));
            }
            this->data_transformer_->Transform(datum, &this->transformed_data_);
            caffe_copy(this->transformed_data_.count(), this->transformed_data_.cpu_data(),
                       batch->data_.mutable_cpu_data() + batch->data_.offset(i));
            batch->label_.mutable_cpu_data()[i] = static_cast<Dtype>(datum.label());
            go(count_);
        }
    }

  private:
    Datum record() const
    {
        Datum datum;

        CHECK(parse(cursor_->value(), &datum)) << "a record that is not a Datum";
        return datum;
    }
    vector<int> shape_of(const Datum &datum) const
    {
        vector<int> shape = this->data_transformer_->InferBlobShape(datum);

        shape[0] = static_cast<int>(this->layer_param_.data_param().batch_size());
        return shape;
    }
    /** Moves that many records ahead, from the last to the first. */
    void go(int records)
    {
        for (int i = 0; i < records; i++) {
            cursor_->Next();
            if (!cursor_->valid())
                cursor_->SeekToFirst();
        }
    }

    const int count_, rank_;
    db::LevelDB db_;
    std::unique_ptr<db::Cursor> cursor_;
};

} // namespace detail

/** Records of a database. */
template <typename Dtype> class DataLayer : public FerryLayer<Dtype>
{
  public:
    explicit DataLayer(const LayerParameter &param) : FerryLayer<Dtype>(param, "Data")
    {
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        if (this->layer_param_.data_param().backend() != DataParameter_DB_LEVELDB)
            return FerryLayer<Dtype>::LayerSetUp(bottom, top);
        leveldb_.reset(new detail::LevelDBDataLayer<Dtype>(this->layer_param_));
        leveldb_->SetUp(bottom, top);
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        if (!leveldb_)
            FerryLayer<Dtype>::Reshape(bottom, top);
    }

  protected:
    virtual void Forward_cpu(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        if (leveldb_)
            leveldb_->Forward(bottom, top);
        else
            FerryLayer<Dtype>::Forward_cpu(bottom, top);
    }
    virtual void Backward_cpu(const vector<Blob<Dtype> *> &, const vector<bool> &,
                              const vector<Blob<Dtype> *> &)
    {
    }

  private:
    shared_ptr<detail::LevelDBDataLayer<Dtype>> leveldb_; /* NULL: ferry reads the database */
};

#endif

} // namespace caffe

#endif
