/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/net.hpp Caffe's Net: a ferry_net. See ferry/caffe.hpp, ferry/net.h. */
#ifndef FERRY_COMPAT_CAFFE_NET_HPP
#define FERRY_COMPAT_CAFFE_NET_HPP

#include <ferry/compat/caffe/detail/net_parts.hpp>
#include <ferry/compat/caffe/net_filter.hpp>

namespace caffe
{

/**
 * A net with its weights, on the mode's device: the next pass moves it if that device has changed.
 * It computes in float. A Net<double> is such a net with blobs that are copies in double; each
 * pass, Update and Reshape synchronize them: the program's changes are copied to the net before,
 * and results are copied back after.
 *
 * Blobs that it returns may be kept: the net's memory lives until the last of them is destroyed.
 * Pointers and references to vectors belong to the net.
 */
template <typename Dtype> class Net
{
  public:
    /** The net of a message, in the message's own state; its blobs are the initial parameters. */
    explicit Net(const NetParameter &param)
    {
        Init(param);
    }
    /** The net of a prototxt, or of a .caffemodel with its parameters. */
    explicit Net(const string &param_file, Phase phase, int level = 0,
                 const vector<string> *stages = nullptr)
    {
        ferry_net_options options = ferry_net_options();
        vector<const char *> names;

        for (size_t i = 0; stages && i < stages->size(); i++)
            names.push_back((*stages)[i].c_str());
        options.level = level;
        options.stages = names.data();
        options.stage_count = names.size();
        open(param_file, phase, &options);
    }
    /** Not in Caffe: wraps a ferry_net, such as a solver's, which `net` keeps alive. */
    Net(const shared_ptr<void> &net, Phase phase)
    {
        adopt(net, phase);
    }
    virtual ~Net()
    {
    }
    Net(const Net &) = delete;
    Net &operator=(const Net &) = delete;

    void Init(const NetParameter &param)
    {
        ferry_net_options options = ferry_net_options();
        NetParameter definition;

        definition.CopyFrom(param);
        for (int i = 0; i < definition.layer_size(); i++)
            definition.mutable_layer(i)->clear_blobs();
        const string text = detail::text_of(definition);
        options.text = text.data();
        options.text_size = text.size();
        open(param.name().empty() ? "net" : param.name(), param.state().phase(), &options);
        CopyTrainedLayersFrom(param);
    }

    /* ---- passes ---- */

    /** Submits a pass; reading an output waits for it, and so does requesting the loss. */
    const vector<Blob<Dtype> *> &Forward(Dtype *loss = nullptr)
    {
        double sum = 0;

        prepare();
        if (has_callbacks(before_forward_, after_forward_))
            sum = forward_by_layer(0, last());
        else
            detail::checked(ferry_net_forward(net(), loss ? &sum : nullptr));
        parts_->fetch();
        if (loss)
            *loss = static_cast<Dtype>(sum);
        return parts_->outputs;
    }
    const vector<Blob<Dtype> *> &ForwardPrefilled(Dtype *loss = nullptr)
    {
        return Forward(loss);
    }
    /** Copies `bottom` into the inputs first. */
    const vector<Blob<Dtype> *> &Forward(const vector<Blob<Dtype> *> &bottom, Dtype *loss = nullptr)
    {
        for (size_t i = 0; i < bottom.size(); i++)
            parts_->inputs.at(i)->CopyFrom(*bottom[i]);
        return Forward(loss);
    }
    /** Runs layers `start` to `end`, inclusive; returns their loss. */
    Dtype ForwardFromTo(int start, int end)
    {
        double sum = 0;

        prepare();
        if (has_callbacks(before_forward_, after_forward_))
            sum = forward_by_layer(start, end);
        else
            detail::checked(
                ferry_net_forward_range(net(), layer_name(start), layer_name(end), &sum));
        parts_->fetch();
        return static_cast<Dtype>(sum);
    }
    Dtype ForwardFrom(int start)
    {
        return ForwardFromTo(start, last());
    }
    Dtype ForwardTo(int end)
    {
        return ForwardFromTo(0, end);
    }
    void Backward()
    {
        BackwardFromTo(last(), 0);
    }
    /** Runs layers from `start` down to `end`, inclusive. */
    void BackwardFromTo(int start, int end)
    {
        come_here();
        parts_->send();
        if (has_callbacks(before_backward_, after_backward_))
            backward_by_layer(start, end);
        else if (start == last() && end == 0)
            detail::checked(ferry_net_backward(net()));
        else
            detail::checked(ferry_net_backward_range(net(), layer_name(start), layer_name(end)));
        parts_->fetch();
    }
    void BackwardFrom(int start)
    {
        BackwardFromTo(start, 0);
    }
    void BackwardTo(int end)
    {
        BackwardFromTo(last(), end);
    }
    Dtype ForwardBackward()
    {
        Dtype loss;

        Forward(&loss);
        Backward();
        return loss;
    }
    void ClearParamDiffs()
    {
        detail::checked(ferry_net_clear_param_diffs(net()));
        for (Blob<Dtype> *param : parts_->learned)
            if (param->source() != param->blob())
                detail::checked(ferry_blob_fill_diff(param->blob(), 0));
    }
    /** Subtracts from each parameter its diff. */
    void Update()
    {
        for (Blob<Dtype> *param : parts_->learned)
            param->Update();
    }
    /** Updates the shapes that depend on those of the inputs. */
    void Reshape()
    {
        parts_->send();
        detail::checked(ferry_net_reshape(net()));
        parts_->fetch();
    }
    /** Makes further passes log the mean of each layer's blobs. */
    void set_debug_info(bool value)
    {
        detail::checked(ferry_net_set_debug(net(), value));
    }

    /* ---- weights ---- */

    /** Loads weights by layer name, from a .caffemodel, .h5, .safetensors or .npz. */
    void CopyTrainedLayersFrom(const string &trained_filename)
    {
        parts_->send();
        detail::checked(ferry_net_load(net(), trained_filename.c_str(), nullptr));
        parts_->fetch();
    }
    /** Loads weights by layer name, from the layers of a message that contain blobs. */
    void CopyTrainedLayersFrom(const NetParameter &param)
    {
        for (int i = 0; i < param.layer_size(); i++) {
            const LayerParameter &source = param.layer(i);
            const int index = index_of(parts_->layer_names, source.name());

            if (source.blobs_size() == 0)
                continue;
            if (index < 0) {
                LOG(INFO) << "Ignoring source layer " << source.name();
                continue;
            }
            copy_blobs(source, parts_->layers[static_cast<size_t>(index)]->blobs());
        }
    }
    void CopyTrainedLayersFromBinaryProto(const string &trained_filename)
    {
        CopyTrainedLayersFrom(trained_filename);
    }
    void CopyTrainedLayersFromHDF5(const string &trained_filename)
    {
        CopyTrainedLayersFrom(trained_filename);
    }
    void ShareTrainedLayersWith(const Net *other)
    {
        detail::checked(ferry_net_share(net(), other->net()));
        parts_->fetch();
    }
    /** Parameters of the same name share their memory from the start: there is nothing to do. */
    void ShareWeights()
    {
    }
    /** Writes all layers with their parameters, and diffs if `write_diff`. */
    void ToProto(NetParameter *param, bool write_diff = false) const
    {
        param->Clear();
        param->set_name(name_);
        for (const auto &layer : parts_->layers)
            layer->ToProto(param->add_layer(), write_diff);
    }
    void ToHDF5(const string &filename, bool write_diff = false) const
    {
        CHECK(!write_diff) << "diffs are saved in a solver's snapshots only (snapshot_diff)";
        parts_->send();
        detail::checked(ferry_net_save(net(), filename.c_str(), FERRY_IO_HDF5));
    }
    /** Not in Caffe: writes a .caffemodel with the definition and all weights. */
    void Save(const string &filename) const
    {
        parts_->send();
        detail::checked(ferry_net_save(net(), filename.c_str(), FERRY_IO_CAFFEMODEL));
    }

    /* ---- contents ---- */

    const string &name() const
    {
        return name_;
    }
    Phase phase() const
    {
        return phase_;
    }
    const vector<string> &layer_names() const
    {
        return parts_->layer_names;
    }
    const vector<string> &blob_names() const
    {
        return parts_->blob_names;
    }
    const vector<shared_ptr<Blob<Dtype>>> &blobs() const
    {
        return parts_->blobs;
    }
    const vector<shared_ptr<Layer<Dtype>>> &layers() const
    {
        return parts_->layers;
    }
    const vector<vector<Blob<Dtype> *>> &bottom_vecs() const
    {
        return parts_->bottoms;
    }
    const vector<vector<Blob<Dtype> *>> &top_vecs() const
    {
        return parts_->tops;
    }
    const vector<int> &top_ids(int i) const
    {
        return parts_->top_ids.at(static_cast<size_t>(i));
    }
    const vector<int> &bottom_ids(int i) const
    {
        return parts_->bottom_ids.at(static_cast<size_t>(i));
    }
    const vector<vector<bool>> &bottom_need_backward() const
    {
        return parts_->bottom_needs;
    }
    const vector<bool> &layer_need_backward() const
    {
        return parts_->layer_needs;
    }
    /** The weight of each blob in the loss. */
    const vector<Dtype> &blob_loss_weights() const
    {
        return parts_->loss_weights;
    }
    const vector<shared_ptr<Blob<Dtype>>> &params() const
    {
        return parts_->params;
    }
    /** The parameters; each shared parameter occurs once. */
    const vector<Blob<Dtype> *> &learnable_params() const
    {
        return parts_->learned;
    }
    /* lr_mult and decay_mult of the learnable parameters, and whether the text sets them. */
    const vector<float> &params_lr() const
    {
        return parts_->rates;
    }
    const vector<bool> &has_params_lr() const
    {
        return parts_->has_rate;
    }
    const vector<float> &params_weight_decay() const
    {
        return parts_->decays;
    }
    const vector<bool> &has_params_decay() const
    {
        return parts_->has_decay;
    }
    const map<string, int> &param_names_index() const
    {
        return parts_->names;
    }
    /** The parameter that each parameter shares; −1: its own. */
    const vector<int> &param_owners() const
    {
        return parts_->owners;
    }
    const vector<string> &param_display_names() const
    {
        return parts_->display_names;
    }
    int num_inputs() const
    {
        return static_cast<int>(parts_->inputs.size());
    }
    int num_outputs() const
    {
        return static_cast<int>(parts_->outputs.size());
    }
    const vector<Blob<Dtype> *> &input_blobs() const
    {
        return parts_->inputs;
    }
    const vector<Blob<Dtype> *> &output_blobs() const
    {
        return parts_->outputs;
    }
    const vector<int> &input_blob_indices() const
    {
        return parts_->input_ids;
    }
    const vector<int> &output_blob_indices() const
    {
        return parts_->output_ids;
    }
    bool has_blob(const string &blob_name) const
    {
        return index_of(parts_->blob_names, blob_name) >= 0;
    }
    /** NULL for an unknown name, or if planning removed the contents (Caffe::set_keep_blobs). */
    const shared_ptr<Blob<Dtype>> blob_by_name(const string &blob_name) const
    {
        const int index = index_of(parts_->blob_names, blob_name);

        return index < 0 ? shared_ptr<Blob<Dtype>>() : parts_->blobs[static_cast<size_t>(index)];
    }
    bool has_layer(const string &layer_name) const
    {
        return index_of(parts_->layer_names, layer_name) >= 0;
    }
    const shared_ptr<Layer<Dtype>> layer_by_name(const string &layer_name) const
    {
        const int index = index_of(parts_->layer_names, layer_name);

        return index < 0 ? shared_ptr<Layer<Dtype>>() : parts_->layers[static_cast<size_t>(index)];
    }
    /** Not in Caffe: the wrapped ferry_net, borrowed. */
    ferry_net *net() const
    {
        return parts_->net();
    }

    /** Not in Caffe: the lists that the functions above return. */
    const detail::NetParts<Dtype> &parts() const
    {
        return *parts_;
    }

    /* ---- the layers of a state ---- */

    static void FilterNet(const NetParameter &param, NetParameter *param_filtered)
    {
        detail::filter_net(param, param_filtered);
    }
    static bool StateMeetsRule(const NetState &state, const NetStateRule &rule, const string &)
    {
        return detail::state_meets_rule(state, rule);
    }

    /* ---- callbacks around each layer; with a callback, layers run one at a time ---- */

    class Callback
    {
      protected:
        virtual void run(int layer) = 0;
        virtual ~Callback()
        {
        }

        template <typename T> friend class Net;
    };
    const vector<Callback *> &before_forward() const
    {
        return before_forward_;
    }
    void add_before_forward(Callback *value)
    {
        before_forward_.push_back(value);
    }
    const vector<Callback *> &after_forward() const
    {
        return after_forward_;
    }
    void add_after_forward(Callback *value)
    {
        after_forward_.push_back(value);
    }
    const vector<Callback *> &before_backward() const
    {
        return before_backward_;
    }
    void add_before_backward(Callback *value)
    {
        before_backward_.push_back(value);
    }
    const vector<Callback *> &after_backward() const
    {
        return after_backward_;
    }
    void add_after_backward(Callback *value)
    {
        after_backward_.push_back(value);
    }

  private:
    void open(const string &path, Phase phase, ferry_net_options *options)
    {
        static const char *const all[] = { "*" };
        ferry_net *net = nullptr;

        detail::ProgramLayer<float>::offer();
        options->struct_size = sizeof *options;
        options->phase = phase == TRAIN ? FERRY_PHASE_TRAIN : FERRY_PHASE_TEST;
        options->seed = Caffe::next_seed();
        options->allow_write =
            Caffe::allow_write().empty() ? nullptr : Caffe::allow_write().c_str();
        options->rank = Caffe::solver_rank();
        options->ranks = Caffe::solver_count();
        if (Caffe::keep_blobs()) {
            options->keep = all;
            options->keep_count = 1;
            options->backward = 1;
        }
        detail::checked(ferry_net_open(Caffe::device(), path.c_str(), options, &net));
        adopt(shared_ptr<void>(
                  net, [](void *opened) { ferry_net_close(static_cast<ferry_net *>(opened)); }),
              phase);
    }
    void adopt(const shared_ptr<void> &net, Phase phase)
    {
        parts_.reset(new detail::NetParts<Dtype>(net));
        name_ = ferry_net_name(this->net());
        phase_ = phase;
        seeded_ = Caffe::seed_count();
    }

    /** Prepares a forward pass. */
    void prepare()
    {
        come_here();
        if (seeded_ != Caffe::seed_count()) {
            detail::checked(ferry_net_seed(net(), Caffe::next_seed()));
            seeded_ = Caffe::seed_count();
        }
        parts_->send();
    }
    void come_here()
    {
        if (ferry_net_device(net()) != Caffe::device())
            detail::checked(ferry_net_move_to(net(), Caffe::device()));
    }
    static bool has_callbacks(const vector<Callback *> &before, const vector<Callback *> &after)
    {
        return !before.empty() || !after.empty();
    }
    static void call(const vector<Callback *> &callbacks, int layer)
    {
        for (Callback *callback : callbacks)
            callback->run(layer);
    }
    double forward_by_layer(int start, int end)
    {
        double sum = 0, one;

        for (int i = start; i <= end; i++) {
            call(before_forward_, i);
            detail::checked(ferry_net_forward_range(net(), layer_name(i), layer_name(i), &one));
            call(after_forward_, i);
            sum += one;
        }
        return sum;
    }
    void backward_by_layer(int start, int end)
    {
        for (int i = start; i >= end; i--) {
            call(before_backward_, i);
            if (parts_->layer_needs[static_cast<size_t>(i)])
                detail::checked(ferry_net_backward_range(net(), layer_name(i), layer_name(i)));
            call(after_backward_, i);
        }
    }

    static void copy_blobs(const LayerParameter &source, vector<shared_ptr<Blob<Dtype>>> &blobs)
    {
        CHECK_EQ(blobs.size(), static_cast<size_t>(source.blobs_size()))
            << "Incompatible number of blobs for layer " << source.name();
        for (int k = 0; k < source.blobs_size(); k++) {
            Blob<Dtype> &target = *blobs[static_cast<size_t>(k)];

            if (!target.ShapeEquals(source.blobs(k)))
                detail::fail(FERRY_ESHAPE, "Cannot copy param " + std::to_string(k) +
                                               " weights from layer '" + source.name() +
                                               "'; shape mismatch. Target param shape is " +
                                               target.shape_string());
        }
        for (int k = 0; k < source.blobs_size(); k++)
            blobs[static_cast<size_t>(k)]->FromProto(source.blobs(k), false);
    }
    int last() const
    {
        return static_cast<int>(parts_->layers.size()) - 1;
    }
    const char *layer_name(int index) const
    {
        return parts_->layer_names.at(static_cast<size_t>(index)).c_str();
    }
    static int index_of(const vector<string> &names, const string &name)
    {
        for (size_t i = 0; i < names.size(); i++)
            if (names[i] == name)
                return static_cast<int>(i);
        return -1;
    }

    shared_ptr<detail::NetParts<Dtype>> parts_;
    Phase phase_;
    string name_;
    unsigned int seeded_ = 0; /* Caffe::seed_count() at the latest seeding */
    vector<Callback *> before_forward_, after_forward_, before_backward_, after_backward_;
};

} // namespace caffe

#endif
