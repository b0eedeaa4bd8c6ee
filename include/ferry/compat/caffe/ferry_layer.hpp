/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/ferry_layer.hpp
 * Layers that ferry computes outside of a net: the base class of all classes in caffe/layers. See
 * ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_FERRY_LAYER_HPP
#define FERRY_COMPAT_CAFFE_FERRY_LAYER_HPP

#include <ferry/compat/caffe/layer_base.hpp>

#include <algorithm>

namespace caffe
{

/**
 * A layer of one of ferry's types, by itself or in a net. SetUp opens a net with one Input for each
 * bottom, and the layer. A pass copies the bottoms into that net, runs it on the mode's device, and
 * copies the tops back. Arithmetic is in float for every Dtype: blobs of doubles are rounded when
 * they are copied in.
 *
 * Its parameters are blobs(), which may be written, shared and replaced; SetUp fills them unless
 * they exist.
 */
template <typename Dtype> class FerryLayer : public Layer<Dtype>
{
    typedef vector<Blob<Dtype> *> Blobs;

  public:
    /** A layer of the message's type. */
    explicit FerryLayer(const LayerParameter &param) : FerryLayer(param, param.type())
    {
    }
    /** A layer of type `type`, which replaces the message's. */
    FerryLayer(const LayerParameter &param, const string &type) : Layer<Dtype>(param), type_(type)
    {
    }

    virtual void LayerSetUp(const Blobs &bottom, const Blobs &top)
    {
        const string text = net_text(bottom, top), folder = WritesTo();
        static const char *const all[] = { "*" };
        ferry_net_options options = ferry_net_options();
        ferry_net *net = nullptr;

        options.struct_size = sizeof options;
        options.phase = this->phase_ == TRAIN ? FERRY_PHASE_TRAIN : FERRY_PHASE_TEST;
        options.text = text.data();
        options.text_size = text.size();
        options.seed = Caffe::next_seed();
        options.allow_write = folder.empty() ? nullptr : folder.c_str();
        options.keep = all;
        options.keep_count = 1;
        options.backward = 1;
        options.rank = Caffe::solver_rank();
        options.ranks = Caffe::solver_count();
        detail::checked(ferry_net_open(Caffe::device(), name().c_str(), &options, &net));
        net_.reset(net, [](void *opened) { ferry_net_close(static_cast<ferry_net *>(opened)); });
        seeded_ = Caffe::seed_count();
        forwarded_ = false;
        take_params();
        weigh_loss(top.size());
    }
    virtual void Reshape(const Blobs &bottom, const Blobs &top)
    {
        if (!net_)
            LayerSetUp(bottom, top);
        come_here();
        for (size_t i = 0; i < bottom.size(); i++)
            if (!ferry_blob_shape_equals(input(i), bottom[i]->blob())) {
                detail::checked(ferry_blob_reshape_like(input(i), bottom[i]->blob()));
                forwarded_ = false;
            }
        detail::checked(ferry_net_reshape(net()));
        if (has_flag(FERRY_LAYER_RESHAPES) && !bottom.empty())
            Forward_cpu(bottom, top); /* the shapes depend on contents */
        shape_tops(top);
    }
    virtual const char *type() const
    {
        return type_.c_str();
    }

    /* ---- limits, from ferry's table of the type ---- */

    virtual int ExactNumBottomBlobs() const
    {
        return exact(table() ? table()->min_bottoms : -1, table() ? table()->max_bottoms : -1);
    }
    virtual int MinBottomBlobs() const
    {
        return table() && ExactNumBottomBlobs() < 0 ? table()->min_bottoms : -1;
    }
    virtual int MaxBottomBlobs() const
    {
        return table() && ExactNumBottomBlobs() < 0 ? table()->max_bottoms : -1;
    }
    virtual int ExactNumTopBlobs() const
    {
        return exact(table() ? table()->min_tops : -1, table() ? table()->max_tops : -1);
    }
    virtual int MinTopBlobs() const
    {
        return table() && ExactNumTopBlobs() < 0 ? table()->min_tops : -1;
    }
    virtual int MaxTopBlobs() const
    {
        return table() && ExactNumTopBlobs() < 0 ? table()->max_tops : -1;
    }
    virtual bool EqualNumBottomTopBlobs() const
    {
        return has_flag(FERRY_LAYER_PAIRS);
    }
    virtual bool AutoTopBlobs() const
    {
        return has_flag(FERRY_LAYER_AUTO_TOPS);
    }
    virtual bool AllowForceBackward(int bottom_index) const
    {
        return !(bottom_index > 0 && has_flag(FERRY_LAYER_LABELS));
    }

    /**
     * Not in Caffe: the layer of a net that this object represents, borrowed; NULL outside of a
     * net.
     */
    const ferry_layer *layer() const
    {
        return layer_;
    }
    /** Not in Caffe: makes this object the layer of a net, with the net's parameters. For Net. */
    void attach(const ferry_layer *layer, const vector<shared_ptr<Blob<Dtype>>> &blobs)
    {
        layer_ = layer;
        this->blobs_ = blobs;
    }

  protected:
    virtual void Forward_cpu(const Blobs &bottom, const Blobs &top)
    {
        if (has_flag(FERRY_LAYER_INPUT))
            return;
        reseed();
        for (size_t i = 0; i < bottom.size(); i++)
            copy(bottom[i]->blob(), input(i), 0);
        params_to_net(0);
        detail::checked(ferry_net_forward(net(), nullptr));
        shape_tops(top);
        for (size_t i = 0; i < made(top); i++)
            copy(output(i), top[i]->blob(), 0);
        params_from_net(0);
        forwarded_ = true;
    }
    virtual void Backward_cpu(const Blobs &top, const vector<bool> &propagate_down,
                              const Blobs &bottom)
    {
        check_propagation(propagate_down, bottom.size());
        if (has_flag(FERRY_LAYER_INPUT | FERRY_LAYER_FORWARD_ONLY))
            return;
        if (!forwarded_)
            Forward_cpu(bottom, top);
        for (size_t i = 0; i < made(top); i++)
            copy(top[i]->blob(), output(i), FERRY_COPY_DIFF);
        params_to_net(FERRY_COPY_DIFF);
        set_aside();
        detail::checked(ferry_net_backward(net()));
        put_back();
        params_from_net(FERRY_COPY_DIFF);
        for (size_t i = 0; i < bottom.size(); i++)
            if (i < propagate_down.size() && propagate_down[i])
                copy(input(i), bottom[i]->blob(), FERRY_COPY_DIFF);
    }
    /** The folder that it may write to; "": none. */
    virtual string WritesTo() const
    {
        return Caffe::allow_write();
    }
    /** The net that computes it, borrowed; NULL before SetUp. */
    ferry_net *net() const
    {
        return static_cast<ferry_net *>(net_.get());
    }

  private:
    static int exact(int least, int most)
    {
        return least == most ? least : -1;
    }
    const ferry_layer_type *table() const
    {
        return ferry_layer_type_find(type_.c_str());
    }
    bool has_flag(uint32_t flag) const
    {
        return table() && (table()->flags & flag) != 0;
    }
    string name() const
    {
        return this->layer_param_.name().empty() ? type_ : this->layer_param_.name();
    }

    /* ---- the net ---- */

    static string shape_text(const Blob<Dtype> &blob)
    {
        string text = "shape {";

        for (int dim : blob.shape())
            text += " dim: " + std::to_string(dim);
        return text + " }";
    }
    /**
     * Generates Input layers for the bottoms, followed by the layer's message with these bottoms
     * and tops.
     */
    string net_text(const Blobs &bottom, const Blobs &top) const
    {
        LayerParameter param;
        string text = "force_backward: true\n";

        param.CopyFrom(this->layer_param_);
        param.set_name(name());
        param.set_type(type_);
        param.clear_bottom();
        param.clear_top();
        param.clear_blobs();
        param.clear_include();
        param.clear_exclude();
        param.clear_phase();
        param.clear_propagate_down();
        param.clear_loss_weight();
        for (size_t i = 0; i < bottom.size(); i++) {
            const string blob = "bottom" + std::to_string(i);

            param.add_bottom(blob);
            text += "layer { name: '" + blob + "' type: 'Input' top: '" + blob +
                    "' input_param { " + shape_text(*bottom[i]) + " } }\n";
        }
        for (size_t i = 0; i < named_tops(bottom, top); i++)
            param.add_top(top_name(bottom, top, i));
        return text + "layer {\n" + detail::text_of(param) + "}\n";
    }
    /**
     * The number of tops; for a layer without bottoms the number of names in the message, if it has
     * any.
     */
    size_t named_tops(const Blobs &bottom, const Blobs &top) const
    {
        const size_t named = static_cast<size_t>(this->layer_param_.top_size());

        return bottom.empty() && named ? std::min(named, top.size()) : top.size();
    }
    /**
     * The name of a top: a bottom's name in place; otherwise, for a layer without bottoms, the
     * message's, which may be the name of an array in a file.
     */
    string top_name(const Blobs &bottom, const Blobs &top, size_t index) const
    {
        for (size_t i = 0; i < bottom.size(); i++)
            if (bottom[i] == top[index])
                return "bottom" + std::to_string(i);
        if (bottom.empty() && static_cast<int>(index) < this->layer_param_.top_size())
            return this->layer_param_.top(static_cast<int>(index));
        return "top" + std::to_string(index);
    }
    /** A loss has weight 1 by default; its other tops have weight 0. */
    void weigh_loss(size_t tops)
    {
        if (!has_flag(FERRY_LAYER_LOSS) || this->layer_param_.loss_weight_size())
            return;
        for (size_t i = 0; i < tops; i++)
            this->layer_param_.add_loss_weight(i == 0 ? 1.0F : 0.0F);
    }
    int last() const
    {
        return ferry_net_layer_count(net()) - 1;
    }
    ferry_blob *input(size_t index) const
    {
        return detail::checked(ferry_net_input_at(net(), static_cast<int>(index)));
    }
    ferry_blob *output(size_t index) const
    {
        return detail::checked(
            ferry_layer_top_at(ferry_net_layer_at(net(), last()), static_cast<int>(index)));
    }
    ferry_blob *param(size_t index) const
    {
        return detail::checked(ferry_net_param_at(net(), last(), static_cast<int>(index)));
    }
    void come_here()
    {
        if (ferry_net_device(net()) != Caffe::device())
            detail::checked(ferry_net_move_to(net(), Caffe::device()));
    }
    /** Reseeds the random numbers if the thread was reseeded. */
    void reseed()
    {
        if (seeded_ == Caffe::seed_count())
            return;
        detail::checked(ferry_net_seed(net(), Caffe::next_seed()));
        seeded_ = Caffe::seed_count();
    }

    /* ---- copies; a blob of the net itself needs none ---- */

    static void copy(ferry_blob *from, ferry_blob *to, unsigned flags)
    {
        if (from != to)
            detail::checked(ferry_blob_copy_from(to, from, flags));
    }
    size_t made(const Blobs &top) const
    {
        const int tops = ferry_layer_top_count(ferry_net_layer_at(net(), last()));

        return std::min(top.size(), static_cast<size_t>(tops));
    }
    void shape_tops(const Blobs &top) const
    {
        for (size_t i = 0; i < made(top); i++)
            if (!ferry_blob_shape_equals(top[i]->blob(), output(i)))
                detail::checked(ferry_blob_reshape_like(top[i]->blob(), output(i)));
    }
    /** Makes the net's parameters blobs(), or copies the values of existing blobs() into them. */
    void take_params()
    {
        const size_t count = static_cast<size_t>(ferry_net_param_count(net(), last()));

        if (this->blobs_.empty())
            for (size_t i = 0; i < count; i++)
                this->blobs_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param(i), net_)));
        if (this->blobs_.size() != count)
            detail::fail(FERRY_ESHAPE, name() + ": " + std::to_string(this->blobs_.size()) +
                                           " blobs of parameters for " + std::to_string(count));
        params_to_net(0);
        this->param_propagate_down_.resize(count, true);
    }
    void params_to_net(unsigned flags) const
    {
        for (size_t i = 0; i < this->blobs_.size(); i++)
            copy(this->blobs_[i]->blob(), param(i), flags);
    }
    void params_from_net(unsigned flags) const
    {
        for (size_t i = 0; i < this->blobs_.size(); i++)
            copy(param(i), this->blobs_[i]->blob(), flags);
    }

    /* ---- diffs that are not needed ---- */

    /** FATAL, as in Caffe, for a bottom that the type cannot differentiate. */
    void check_propagation(const vector<bool> &propagate_down, size_t bottoms) const
    {
        const ferry_layer *layer = ferry_net_layer_at(net(), last());

        for (size_t i = 0; i < propagate_down.size() && i < bottoms; i++)
            if (propagate_down[i] && !ferry_layer_propagates(layer, static_cast<int>(i)))
                detail::fail(FERRY_EUNSUPPORTED, string(type_) +
                                                     " Layer cannot backpropagate to bottom " +
                                                     std::to_string(i));
    }
    /** Preserves the diffs of parameters that param_propagate_down excludes. */
    void set_aside()
    {
        kept_.clear();
        for (size_t i = 0; i < this->blobs_.size(); i++) {
            kept_.push_back(shared_ptr<Blob<Dtype>>());
            if (this->param_propagate_down_[i])
                continue;
            kept_[i].reset(new Blob<Dtype>());
            detail::checked(ferry_blob_copy_from(kept_[i]->blob(), param(i),
                                                 FERRY_COPY_DIFF | FERRY_COPY_RESHAPE));
        }
    }
    void put_back()
    {
        for (size_t i = 0; i < kept_.size(); i++)
            if (kept_[i])
                copy(kept_[i]->blob(), param(i), FERRY_COPY_DIFF);
        kept_.clear();
    }

    const string type_;
    shared_ptr<void> net_;               /* its own net; NULL before SetUp */
    const ferry_layer *layer_ = nullptr; /* the layer of a net; NULL: outside of a net */
    bool forwarded_ = false;             /* a pass has run for the current shapes */
    unsigned int seeded_ = 0;            /* Caffe::seed_count() at the latest seeding */
    vector<shared_ptr<Blob<Dtype>>> kept_;
};

/**
 * Defines the class NAMELayer of layer type `name`, which ferry computes. For the headers in
 * caffe/layers.
 */
#define FERRY_CAFFE_LAYER(name)                                                             \
    template <typename Dtype> class name##Layer : public FerryLayer<Dtype>                  \
    {                                                                                       \
      public:                                                                               \
        explicit name##Layer(const LayerParameter &param) : FerryLayer<Dtype>(param, #name) \
        {                                                                                   \
        }                                                                                   \
    }

} // namespace caffe

#endif
