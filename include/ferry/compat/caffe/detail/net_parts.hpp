/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/detail/net_parts.hpp
 * The blobs, layers and parameters of a ferry_net, in the form of Caffe's Net. Not for programs.
 */
#ifndef FERRY_COMPAT_CAFFE_DETAIL_NET_PARTS_HPP
#define FERRY_COMPAT_CAFFE_DETAIL_NET_PARTS_HPP

#include <ferry/compat/caffe/layer.hpp>
#include <ferry/compat/caffe/layers/memory_data_layer.hpp>

namespace caffe
{
namespace detail
{

/**
 * The lists of a net, in its order. Blobs keep the net alive; any part that a program keeps does so
 * too.
 */
template <typename Dtype> class NetParts
{
  public:
    typedef vector<shared_ptr<Blob<Dtype>>> Held;
    typedef vector<Blob<Dtype> *> Seen;

    explicit NetParts(const shared_ptr<void> &net) : net_(net)
    {
        look_at_blobs();
        for (int i = 0; i < ferry_net_layer_count(this->net()); i++)
            look_at_layer(i);
    }
    ferry_net *net() const
    {
        return static_cast<ferry_net *>(net_.get());
    }

    /**
     * Before a pass: copies the program's changes of blobs, and MemoryData's next batch, into the
     * net.
     */
    void send() const
    {
        for (const auto &one : data_layers)
            one.second->Feed(tops[one.first]);
        for (const auto &one : known_)
            if (one.second)
                one.second->send();
    }
    /** After a pass: updates copies from the net. */
    void fetch() const
    {
        for (const auto &one : known_)
            if (one.second)
                one.second->fetch();
    }

    /* ---- blobs and their loss weights ---- */
    Held blobs;
    vector<string> blob_names;
    vector<Dtype> loss_weights;
    Seen inputs, outputs;
    vector<int> input_ids, output_ids;

    /* ---- layers ---- */
    vector<shared_ptr<Layer<Dtype>>> layers;
    vector<string> layer_names;
    vector<bool> layer_needs;
    vector<vector<bool>> bottom_needs;
    vector<Seen> bottoms, tops;
    vector<vector<int>> bottom_ids, top_ids;
    vector<pair<size_t, shared_ptr<MemoryDataLayer<Dtype>>>> data_layers; /* by layer index */

    /* ---- parameters; shared parameters have one owner and are trained once ---- */
    Held params;
    vector<int> owners; /* the parameter that it shares; −1: its own */
    vector<string> display_names;
    map<string, int> names; /* the owner of each name */
    Seen learned;
    vector<float> rates, decays;
    vector<bool> has_rate, has_decay;

  private:
    /** The Blob that wraps a blob of the net, created once; NULL for NULL. */
    shared_ptr<Blob<Dtype>> wrapped(ferry_blob *blob)
    {
        shared_ptr<Blob<Dtype>> &known = known_[blob];

        if (blob && !known)
            known.reset(new Blob<Dtype>(blob, net_));
        return known;
    }
    int id_of(const Blob<Dtype> *blob) const
    {
        for (size_t i = 0; i < blobs.size(); i++)
            if (blobs[i].get() == blob)
                return static_cast<int>(i);
        return -1;
    }
    void look_at_blobs()
    {
        for (int i = 0; i < ferry_net_blob_count(net()); i++) {
            ferry_blob *blob = ferry_net_blob_at(net(), i);

            if (!blob)
                continue;
            blob_names.push_back(ferry_blob_name(blob));
            blobs.push_back(wrapped(blob));
            loss_weights.push_back(Dtype(0));
        }
        for (int i = 0; i < ferry_net_input_count(net()); i++) {
            inputs.push_back(wrapped(ferry_net_input_at(net(), i)).get());
            input_ids.push_back(id_of(inputs.back()));
        }
        for (int i = 0; i < ferry_net_output_count(net()); i++) {
            outputs.push_back(wrapped(ferry_net_output_at(net(), i)).get());
            output_ids.push_back(id_of(outputs.back()));
        }
    }
    void look_at_layer(int index)
    {
        const ferry_layer *layer = checked(ferry_net_layer_at(net(), index));
        ferry_net_layer_info info = ferry_net_layer_info();
        LayerParameter param;

        read_message(ferry_layer_message(layer), &param);
        param.set_phase(ferry_layer_phase(layer) == FERRY_PHASE_TRAIN ? TRAIN : TEST);
        info.struct_size = sizeof info;
        checked(ferry_net_get_layer_info(net(), index, &info));
        layer_names.push_back(info.name);
        layer_needs.push_back(info.needs_backward != 0);
        look_at_ends(layer);
        make_layer(layer, param, params_of(index, param));
    }
    void look_at_ends(const ferry_layer *layer)
    {
        bottoms.push_back(Seen());
        tops.push_back(Seen());
        bottom_ids.push_back(vector<int>());
        top_ids.push_back(vector<int>());
        bottom_needs.push_back(vector<bool>());
        for (int k = 0; k < ferry_layer_bottom_count(layer); k++) {
            bottoms.back().push_back(wrapped(ferry_layer_bottom_at(layer, k)).get());
            bottom_ids.back().push_back(id_of(bottoms.back().back()));
            bottom_needs.back().push_back(ferry_layer_propagates(layer, k) != 0);
        }
        for (int k = 0; k < ferry_layer_top_count(layer); k++) {
            tops.back().push_back(wrapped(ferry_layer_top_at(layer, k)).get());
            top_ids.back().push_back(id_of(tops.back().back()));
            if (top_ids.back().back() >= 0)
                loss_weights[static_cast<size_t>(top_ids.back().back())] =
                    static_cast<Dtype>(ferry_layer_loss_weight(layer, k));
        }
    }
    /** Creates the object of a layer: the program's own class, MemoryData, or a class of ferry. */
    void make_layer(const ferry_layer *layer, const LayerParameter &param, const Held &mine)
    {
        shared_ptr<Layer<Dtype>> object = ProgramLayer<Dtype>::object_of(layer);

        if (!object && param.type() == "MemoryData") {
            const shared_ptr<MemoryDataLayer<Dtype>> data(new MemoryDataLayer<Dtype>(param));

            data_layers.push_back(make_pair(layers.size(), data));
            object = data;
        }
        if (!object) {
            FerryLayer<Dtype> *const one = new FerryLayer<Dtype>(param);

            object.reset(one);
            one->attach(layer, mine);
        }
        for (int k = 0; k < ferry_layer_top_count(layer); k++)
            object->set_loss(k, static_cast<Dtype>(ferry_layer_loss_weight(layer, k)));
        layers.push_back(object);
    }
    Held params_of(int layer, const LayerParameter &message)
    {
        Held mine;

        for (int k = 0; k < ferry_net_param_count(net(), layer); k++) {
            ferry_blob *param = checked(ferry_net_param_at(net(), layer, k));

            mine.push_back(wrapped(param));
            enlist(mine.back(), ferry_blob_data_memory(param), message, k);
        }
        return mine;
    }
    void enlist(const shared_ptr<Blob<Dtype>> &param, const void *memory,
                const LayerParameter &message, int index)
    {
        const int id = static_cast<int>(params.size());
        const bool spec = index < message.param_size();
        const string name = spec ? message.param(index).name() : string();
        const auto owner = memories_.find(memory);

        params.push_back(param);
        display_names.push_back(name.empty() ? std::to_string(index) : name);
        owners.push_back(owner == memories_.end() ? -1 : owner->second);
        if (owner != memories_.end()) {
            share(*param, *params[static_cast<size_t>(owner->second)]);
            return;
        }
        memories_[memory] = id;
        if (!name.empty())
            names[name] = id;
        learned.push_back(param.get());
        has_rate.push_back(spec && message.param(index).has_lr_mult());
        has_decay.push_back(spec && message.param(index).has_decay_mult());
        rates.push_back(has_rate.back() ? message.param(index).lr_mult() : 1.0F);
        decays.push_back(has_decay.back() ? message.param(index).decay_mult() : 1.0F);
    }
    /** Makes copies of shared parameters share their memory too. */
    static void share(Blob<Dtype> &param, const Blob<Dtype> &owner)
    {
        if (param.source() == param.blob())
            return;
        param.ShareData(owner);
        param.ShareDiff(owner);
    }

    const shared_ptr<void> net_;
    map<ferry_blob *, shared_ptr<Blob<Dtype>>> known_;
    map<const void *, int> memories_; /* the owner of each parameter's memory */
};

} // namespace detail
} // namespace caffe

#endif
