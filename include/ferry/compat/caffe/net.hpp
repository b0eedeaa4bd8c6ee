/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/net.hpp Caffe's Net: a ferry_net. See ferry/caffe.hpp, ferry/net.h. */
#ifndef FERRY_COMPAT_CAFFE_NET_HPP
#define FERRY_COMPAT_CAFFE_NET_HPP

#include <ferry/compat/caffe/layer.hpp>

namespace caffe
{

/**
 * A net from a prototxt, with its weights, on the device that the mode means: it moves there with the next pass
 * when that has become another. float alone.
 *
 * Blobs that it gives out may be kept: the net's memory lives until the last of them is gone. Pointers and
 * references to vectors are the net's.
 */
template <typename Dtype> class Net
{
    static_assert(sizeof(Dtype) == sizeof(float), "ferry's nets compute in float");

  public:
    explicit Net(const string &param_file, Phase phase, int level = 0,
                 const vector<string> *stages = nullptr)
        : phase_(phase)
    {
        open(param_file, level, stages);
        try {
            look_at_blobs();
            look_at_layers();
            read_name(param_file);
        } catch (...) {
            forget();
            throw;
        }
    }
    ~Net()
    {
        forget();
    }
    Net(const Net &) = delete;
    Net &operator=(const Net &) = delete;

    /* ---- passes ---- */

    /** Enqueues a pass; reading an output waits for it, and so does asking for the loss. */
    const vector<Blob<Dtype> *> &Forward(Dtype *loss = nullptr)
    {
        double sum = 0;

        come_here();
        detail::checked(ferry_net_forward(net(), loss ? &sum : nullptr));
        if (loss)
            *loss = static_cast<Dtype>(sum);
        return output_blobs_;
    }
    const vector<Blob<Dtype> *> &ForwardPrefilled(Dtype *loss = nullptr)
    {
        return Forward(loss);
    }
    /** Copies `bottom` into the inputs first. */
    const vector<Blob<Dtype> *> &Forward(const vector<Blob<Dtype> *> &bottom, Dtype *loss = nullptr)
    {
        for (size_t i = 0; i < bottom.size(); i++)
            input_blobs_.at(i)->CopyFrom(*bottom[i]);
        return Forward(loss);
    }
    /** Layers `start` to `end`, both among them; their loss. */
    Dtype ForwardFromTo(int start, int end)
    {
        double sum = 0;

        come_here();
        detail::checked(ferry_net_forward_range(net(), layer_name(start), layer_name(end), &sum));
        return static_cast<Dtype>(sum);
    }
    Dtype ForwardFrom(int start)
    {
        return ForwardFromTo(start, static_cast<int>(layers_.size()) - 1);
    }
    Dtype ForwardTo(int end)
    {
        return ForwardFromTo(0, end);
    }
    void Backward()
    {
        come_here();
        detail::checked(ferry_net_backward(net()));
    }
    /** Layers from `start` down to `end`, both among them. */
    void BackwardFromTo(int start, int end)
    {
        come_here();
        detail::checked(ferry_net_backward_range(net(), layer_name(start), layer_name(end)));
    }
    void BackwardFrom(int start)
    {
        BackwardFromTo(start, 0);
    }
    void BackwardTo(int end)
    {
        BackwardFromTo(static_cast<int>(layers_.size()) - 1, end);
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
    }
    /** Every parameter, less its diff. */
    void Update()
    {
        for (Blob<Dtype> *param : learnable_params_)
            param->Update();
    }
    void Reshape()
    {
        detail::checked(ferry_net_reshape(net()));
    }

    /* ---- weights ---- */

    /** By layer name, from a .caffemodel, .h5, .safetensors or .npz. */
    void CopyTrainedLayersFrom(const string &trained_filename)
    {
        detail::checked(ferry_net_load(net(), trained_filename.c_str(), nullptr));
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
    }
    void ToHDF5(const string &filename) const
    {
        detail::checked(ferry_net_save(net(), filename.c_str(), FERRY_IO_HDF5));
    }
    /** Not Caffe's name for it: a .caffemodel with the definition and all weights. */
    void Save(const string &filename) const
    {
        detail::checked(ferry_net_save(net(), filename.c_str(), FERRY_IO_CAFFEMODEL));
    }

    /* ---- what there is ---- */

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
        return layer_names_;
    }
    const vector<string> &blob_names() const
    {
        return blob_names_;
    }
    const vector<shared_ptr<Blob<Dtype>>> &blobs() const
    {
        return blobs_;
    }
    const vector<shared_ptr<Layer<Dtype>>> &layers() const
    {
        return layers_;
    }
    const vector<vector<Blob<Dtype> *>> &bottom_vecs() const
    {
        return bottoms_;
    }
    const vector<vector<Blob<Dtype> *>> &top_vecs() const
    {
        return tops_;
    }
    const vector<shared_ptr<Blob<Dtype>>> &params() const
    {
        return params_;
    }
    /** The parameters, shared ones once. */
    const vector<Blob<Dtype> *> &learnable_params() const
    {
        return learnable_params_;
    }
    int num_inputs() const
    {
        return static_cast<int>(input_blobs_.size());
    }
    int num_outputs() const
    {
        return static_cast<int>(output_blobs_.size());
    }
    const vector<Blob<Dtype> *> &input_blobs() const
    {
        return input_blobs_;
    }
    const vector<Blob<Dtype> *> &output_blobs() const
    {
        return output_blobs_;
    }
    bool has_blob(const string &blob_name) const
    {
        return index_of(blob_names_, blob_name) >= 0;
    }
    /** NULL where there is none, or where it was planned away (Caffe::set_keep_blobs). */
    shared_ptr<Blob<Dtype>> blob_by_name(const string &blob_name) const
    {
        const int index = index_of(blob_names_, blob_name);

        return index < 0 ? shared_ptr<Blob<Dtype>>() : blobs_[static_cast<size_t>(index)];
    }
    bool has_layer(const string &layer_name) const
    {
        return index_of(layer_names_, layer_name) >= 0;
    }
    shared_ptr<Layer<Dtype>> layer_by_name(const string &layer_name) const
    {
        const int index = index_of(layer_names_, layer_name);

        return index < 0 ? shared_ptr<Layer<Dtype>>() : layers_[static_cast<size_t>(index)];
    }
    /** Not Caffe's: what is underneath, borrowed. */
    ferry_net *net() const
    {
        return static_cast<ferry_net *>(net_.get());
    }

  private:
    void open(const string &param_file, int level, const vector<string> *stages)
    {
        static const char *const all[] = { "*" };
        ferry_net_options options = ferry_net_options();
        vector<const char *> names;
        ferry_net *net = nullptr;

        for (size_t i = 0; stages && i < stages->size(); i++)
            names.push_back((*stages)[i].c_str());
        options.struct_size = sizeof options;
        options.phase = phase_ == TRAIN ? FERRY_PHASE_TRAIN : FERRY_PHASE_TEST;
        options.level = level;
        options.stages = names.data();
        options.stage_count = names.size();
        options.seed = Caffe::random_seed();
        options.allow_write = Caffe::allow_write().empty() ? nullptr : Caffe::allow_write().c_str();
        if (Caffe::keep_blobs()) {
            options.keep = all;
            options.keep_count = 1;
            options.backward = 1;
        }
        detail::checked(ferry_net_open(Caffe::device(), param_file.c_str(), &options, &net));
        net_.reset(net, [](void *opened) { ferry_net_close(static_cast<ferry_net *>(opened)); });
    }

    /** The one Blob for a blob of the net; NULL for NULL. */
    shared_ptr<Blob<Dtype>> wrapped(ferry_blob *blob)
    {
        shared_ptr<Blob<Dtype>> &known = known_[blob];

        if (blob && !known)
            known.reset(new Blob<Dtype>(blob, net_));
        return known;
    }
    void look_at_blobs()
    {
        for (int i = 0; i < ferry_net_blob_count(net()); i++) {
            ferry_blob *blob = ferry_net_blob_at(net(), i);

            if (!blob)
                continue;
            blob_names_.push_back(ferry_blob_name(blob));
            blobs_.push_back(wrapped(blob));
        }
        for (int i = 0; i < ferry_net_input_count(net()); i++)
            input_blobs_.push_back(wrapped(ferry_net_input_at(net(), i)).get());
        for (int i = 0; i < ferry_net_output_count(net()); i++)
            output_blobs_.push_back(wrapped(ferry_net_output_at(net(), i)).get());
    }
    void look_at_layers()
    {
        for (int i = 0; i < ferry_net_layer_count(net()); i++) {
            const ferry_layer *layer = detail::checked(ferry_net_layer_at(net(), i));
            vector<Blob<Dtype> *> bottoms, tops;

            for (int k = 0; k < ferry_layer_bottom_count(layer); k++)
                bottoms.push_back(wrapped(ferry_layer_bottom_at(layer, k)).get());
            for (int k = 0; k < ferry_layer_top_count(layer); k++)
                tops.push_back(wrapped(ferry_layer_top_at(layer, k)).get());
            bottoms_.push_back(bottoms);
            tops_.push_back(tops);
            layer_names_.push_back(ferry_layer_name(layer));
            layers_.push_back(shared_ptr<Layer<Dtype>>(new Layer<Dtype>(layer, params_of(i))));
        }
    }
    vector<shared_ptr<Blob<Dtype>>> params_of(int layer)
    {
        vector<shared_ptr<Blob<Dtype>>> blobs;

        for (int k = 0; k < ferry_net_param_count(net(), layer); k++) {
            ferry_blob *param = detail::checked(ferry_net_param_at(net(), layer, k));

            blobs.push_back(wrapped(param));
            params_.push_back(blobs.back());
            if (memories_.insert(ferry_blob_data_memory(param)).second)
                learnable_params_.push_back(blobs.back().get());
        }
        return blobs;
    }
    void read_name(const string &param_file)
    {
        ferry_proto *message = nullptr;

        detail::checked(ferry_proto_open(param_file.c_str(), "NetParameter", nullptr, &message));
        name_ = ferry_proto_string(message, "name", 0, nullptr);
        ferry_proto_close(message);
    }
    /** Blobs that a program has kept keep the net; the others must not. */
    void forget()
    {
        layers_.clear();
        params_.clear();
        blobs_.clear();
        known_.clear();
        net_.reset();
    }

    void come_here()
    {
        if (ferry_net_device(net()) != Caffe::device())
            detail::checked(ferry_net_move_to(net(), Caffe::device()));
    }
    const char *layer_name(int index) const
    {
        return layer_names_.at(static_cast<size_t>(index)).c_str();
    }
    static int index_of(const vector<string> &names, const string &name)
    {
        for (size_t i = 0; i < names.size(); i++)
            if (names[i] == name)
                return static_cast<int>(i);
        return -1;
    }

    shared_ptr<void> net_;
    Phase phase_;
    string name_;
    vector<string> layer_names_, blob_names_;
    map<ferry_blob *, shared_ptr<Blob<Dtype>>> known_;
    vector<shared_ptr<Blob<Dtype>>> blobs_, params_;
    vector<shared_ptr<Layer<Dtype>>> layers_;
    vector<Blob<Dtype> *> input_blobs_, output_blobs_, learnable_params_;
    vector<vector<Blob<Dtype> *>> bottoms_, tops_;
    set<const void *> memories_; /* of parameters: shared ones have one */
};

} // namespace caffe

#endif
