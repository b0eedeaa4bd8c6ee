/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layer_base.hpp
 * Caffe's base class of all layers, for the layers that ferry computes (ferry_layer.hpp) and for
 * those that a program defines (layer_factory.hpp registers them). Programs include
 * <caffe/layer.hpp>.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYER_BASE_HPP
#define FERRY_COMPAT_CAFFE_LAYER_BASE_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/net.h>

#include <algorithm>

namespace caffe
{

namespace detail
{
template <typename Dtype> class ProgramLayer;
}

/**
 * A layer. LayerSetUp reads the message and creates the parameters, Reshape sets the shapes of the
 * tops, Forward_cpu and Backward_cpu compute. In mode GPU the _gpu functions are called, which a
 * class may omit: their defaults call the _cpu functions, and blobs copy data to the host.
 */
template <typename Dtype> class Layer
{
  public:
    /** Takes the phase and the parameters from the message. */
    explicit Layer(const LayerParameter &param) : layer_param_(param), phase_(param.phase())
    {
        for (int i = 0; i < param.blobs_size(); i++) {
            blobs_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>()));
            blobs_.back()->FromProto(param.blobs(i));
        }
    }
    virtual ~Layer()
    {
    }
    Layer(const Layer &) = delete;
    Layer &operator=(const Layer &) = delete;

    /** Prepares the layer for these blobs: called once, before anything else. */
    void SetUp(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        CheckBlobCounts(bottom, top);
        LayerSetUp(bottom, top);
        Reshape(bottom, top);
        SetLossWeights(top);
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &)
    {
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top) = 0;

    /**
     * Reshapes, computes the tops, and returns the loss: the sum over weighted tops of top times
     * diff.
     */
    Dtype Forward(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        Dtype sum = 0;

        Reshape(bottom, top);
        Caffe::mode() == Caffe::GPU ? Forward_gpu(bottom, top) : Forward_cpu(bottom, top);
        for (size_t i = 0; i < top.size(); i++) {
            if (!has_loss(i))
                continue;
            const Dtype *data = top[i]->cpu_data(), *weights = top[i]->cpu_diff();

            for (int k = 0; k < top[i]->count(); k++)
                sum += data[k] * weights[k];
        }
        return sum;
    }
    /**
     * Computes from the tops' diffs those of the bottoms with propagate_down; adds to the
     * parameters' diffs.
     */
    void Backward(const vector<Blob<Dtype> *> &top, const vector<bool> &propagate_down,
                  const vector<Blob<Dtype> *> &bottom)
    {
        Caffe::mode() == Caffe::GPU ? Backward_gpu(top, propagate_down, bottom)
                                    : Backward_cpu(top, propagate_down, bottom);
    }

    vector<shared_ptr<Blob<Dtype>>> &blobs()
    {
        return blobs_;
    }
    const LayerParameter &layer_param() const
    {
        return layer_param_;
    }
    /** The message with the current parameters. */
    virtual void ToProto(LayerParameter *param, bool write_diff = false)
    {
        param->CopyFrom(layer_param_);
        param->clear_blobs();
        for (size_t i = 0; i < blobs_.size(); i++)
            blobs_[i]->ToProto(param->add_blobs(), write_diff);
    }
    /** The weight of a top in the loss; 0: it does not contribute. */
    Dtype loss(int top_index) const
    {
        const size_t index = static_cast<size_t>(top_index);

        return index < loss_.size() ? loss_[index] : Dtype(0);
    }
    void set_loss(int top_index, Dtype value)
    {
        const size_t index = static_cast<size_t>(top_index);

        if (index >= loss_.size())
            loss_.resize(index + 1, Dtype(0));
        loss_[index] = value;
    }

    virtual const char *type() const
    {
        return "";
    }
    /* The required number of bottoms and tops; −1: no requirement. */
    virtual int ExactNumBottomBlobs() const
    {
        return -1;
    }
    virtual int MinBottomBlobs() const
    {
        return -1;
    }
    virtual int MaxBottomBlobs() const
    {
        return -1;
    }
    virtual int ExactNumTopBlobs() const
    {
        return -1;
    }
    virtual int MinTopBlobs() const
    {
        return -1;
    }
    virtual int MaxTopBlobs() const
    {
        return -1;
    }
    virtual bool EqualNumBottomTopBlobs() const
    {
        return false;
    }
    /** Whether a net adds tops that the text does not name. */
    virtual bool AutoTopBlobs() const
    {
        return false;
    }
    virtual bool AllowForceBackward(int) const
    {
        return true;
    }

    /** Whether the diff of a parameter is computed. */
    bool param_propagate_down(int param_id)
    {
        const size_t index = static_cast<size_t>(param_id);

        return index < param_propagate_down_.size() && param_propagate_down_[index];
    }
    void set_param_propagate_down(int param_id, bool value)
    {
        const size_t index = static_cast<size_t>(param_id);

        if (index >= param_propagate_down_.size())
            param_propagate_down_.resize(index + 1, true);
        param_propagate_down_[index] = value;
    }

  protected:
    virtual void Forward_cpu(const vector<Blob<Dtype> *> &bottom,
                             const vector<Blob<Dtype> *> &top) = 0;
    virtual void Forward_gpu(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        Forward_cpu(bottom, top);
    }
    virtual void Backward_cpu(const vector<Blob<Dtype> *> &top, const vector<bool> &propagate_down,
                              const vector<Blob<Dtype> *> &bottom) = 0;
    virtual void Backward_gpu(const vector<Blob<Dtype> *> &top, const vector<bool> &propagate_down,
                              const vector<Blob<Dtype> *> &bottom)
    {
        Backward_cpu(top, propagate_down, bottom);
    }
    /** FATAL if the numbers of blobs do not meet the requirements above. */
    virtual void CheckBlobCounts(const vector<Blob<Dtype> *> &bottom,
                                 const vector<Blob<Dtype> *> &top)
    {
        const int bottoms = static_cast<int>(bottom.size()), tops = static_cast<int>(top.size());

        CheckCount(bottoms, ExactNumBottomBlobs(), MinBottomBlobs(), MaxBottomBlobs(), "bottom");
        CheckCount(tops, ExactNumTopBlobs(), MinTopBlobs(), MaxTopBlobs(), "top");
        if (EqualNumBottomTopBlobs() && bottoms != tops)
            detail::fail(FERRY_EINVAL,
                         string(type()) + " Layer produces one top blob for each bottom blob");
    }
    /** Stores the loss_weight of the message and fills the tops' diffs with it. */
    void SetLossWeights(const vector<Blob<Dtype> *> &top)
    {
        const int weights = layer_param_.loss_weight_size();

        CHECK(!weights || weights == static_cast<int>(top.size()))
            << "loss_weight must be unspecified or specified once per top blob.";
        for (int i = 0; i < weights; i++) {
            const Dtype weight = static_cast<Dtype>(layer_param_.loss_weight(i));
            Blob<Dtype> *blob = top[static_cast<size_t>(i)];

            if (!(weight < 0 || weight > 0))
                continue;
            set_loss(i, weight);
            std::fill_n(blob->mutable_cpu_diff(), blob->count(), weight);
        }
    }

    LayerParameter layer_param_;
    Phase phase_;
    vector<shared_ptr<Blob<Dtype>>> blobs_;
    vector<bool> param_propagate_down_;
    vector<Dtype> loss_;

  private:
    friend class detail::ProgramLayer<Dtype>;

    bool has_loss(size_t top) const
    {
        return top < loss_.size() && (loss_[top] < 0 || loss_[top] > 0);
    }
    void CheckCount(int count, int exact, int least, int most, const char *what) const
    {
        if (exact >= 0 && count != exact)
            Fail(what, "", exact, count);
        if (least >= 0 && count < least)
            Fail(what, "at least ", least, count);
        if (most >= 0 && count > most)
            Fail(what, "at most ", most, count);
    }
    void Fail(const char *what, const char *bound, int wanted, int count) const
    {
        detail::fail(FERRY_EINVAL, string(type()) + " Layer takes " + bound +
                                       std::to_string(wanted) + " " + what + " blob(s), and got " +
                                       std::to_string(count));
    }
};

} // namespace caffe

#endif
