/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/upgrade_proto.hpp
 * Upgrades messages of older versions of Caffe with ferry_proto_upgrade, and reads messages from
 * files. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_UPGRADE_PROTO_HPP
#define FERRY_COMPAT_CAFFE_UTIL_UPGRADE_PROTO_HPP

#include <ferry/compat/caffe/util/io.hpp>

namespace caffe
{

namespace detail
{

/** Upgrades a message without blobs, or runs one step; errors call its text `name`. */
template <typename M> void upgrade(const string &name, const char *type, M *message, int step = -1)
{
    const string text = text_of(*message);
    ferry_proto_options options = ferry_proto_options();
    ferry_proto *tree = nullptr;
    const char *line;
    int level;

    options.struct_size = sizeof options;
    options.text = text.data();
    options.text_size = text.size();
    checked(ferry_proto_open(name.c_str(), type, &options, &tree));
    const shared_ptr<ferry_proto> closed(tree, ferry_proto_close);
    checked(step < 0 ? ferry_proto_upgrade(tree)
                     : ferry_proto_upgrade_step(tree, static_cast<ferry_proto_step>(step)));
    for (int i = 0; i < ferry_proto_note_count(tree); i++)
        if (!ferry_proto_note_at(tree, i, &level, &line))
            ferry_log_write(level, "%s", line);
    read_message(tree, message);
}

} // namespace detail

/* ---- required upgrades ---- */

/** Whether a layer has parameters in the field `layer` of Caffe's first form. */
inline bool NetNeedsV0ToV1Upgrade(const NetParameter &net_param)
{
    for (int i = 0; i < net_param.layers_size(); i++)
        if (net_param.layers(i).has_layer())
            return true;
    return false;
}
/** Whether layers are in the field `layers`. */
inline bool NetNeedsV1ToV2Upgrade(const NetParameter &net_param)
{
    return net_param.layers_size() > 0;
}
/** Whether a V1 data layer has the transformation of pictures among its own fields. */
inline bool NetNeedsDataUpgrade(const NetParameter &net_param)
{
    for (int i = 0; i < net_param.layers_size(); i++) {
        const V1LayerParameter &layer = net_param.layers(i);
        const DataParameter &data = layer.data_param();
        const ImageDataParameter &image = layer.image_data_param();
        const WindowDataParameter &window = layer.window_data_param();

        if (data.has_scale() || data.has_mean_file() || data.has_crop_size() || data.has_mirror() ||
            image.has_scale() || image.has_mean_file() || image.has_crop_size() ||
            image.has_mirror() || window.has_scale() || window.has_mean_file() ||
            window.has_crop_size() || window.has_mirror())
            return true;
    }
    return false;
}
/** Whether inputs are fields of the net. */
inline bool NetNeedsInputUpgrade(const NetParameter &net_param)
{
    return net_param.input_size() > 0;
}
/** Whether a BatchNorm has learning rates for its three statistics. */
inline bool NetNeedsBatchNormUpgrade(const NetParameter &net_param)
{
    for (int i = 0; i < net_param.layer_size(); i++)
        if (net_param.layer(i).type() == "BatchNorm" && net_param.layer(i).param_size() == 3)
            return true;
    return false;
}
inline bool NetNeedsUpgrade(const NetParameter &net_param)
{
    return NetNeedsV0ToV1Upgrade(net_param) || NetNeedsV1ToV2Upgrade(net_param) ||
           NetNeedsDataUpgrade(net_param) || NetNeedsInputUpgrade(net_param) ||
           NetNeedsBatchNormUpgrade(net_param);
}
inline bool SolverNeedsTypeUpgrade(const SolverParameter &solver_param)
{
    return solver_param.has_solver_type();
}

namespace detail
{

/** Keeps the blobs of layers during an upgrade, which works on text. */
class SetAside
{
  public:
    explicit SetAside(NetParameter *param)
    {
        for (int i = 0; i < param->layers_size(); i++) {
            blobs_.push_back(vector<BlobProto>());
            for (int k = 0; k < param->layers(i).blobs_size(); k++)
                blobs_.back().push_back(param->layers(i).blobs(k));
            param->mutable_layers(i)->clear_blobs();
        }
    }
    /** Returns them to the last layers, since an Input layer may have been inserted before. */
    void put_back(NetParameter *param) const
    {
        const int count = static_cast<int>(blobs_.size());

        for (int i = 0; i < count; i++)
            for (const BlobProto &blob : blobs_[static_cast<size_t>(i)]) {
                if (param->layers_size())
                    param->mutable_layers(param->layers_size() - count + i)
                        ->add_blobs()
                        ->CopyFrom(blob);
                else
                    param->mutable_layer(param->layer_size() - count + i)
                        ->add_blobs()
                        ->CopyFrom(blob);
            }
    }

  private:
    vector<vector<BlobProto>> blobs_;
};

inline bool upgrade_step(NetParameter *param, ferry_proto_step step)
{
    const SetAside blobs(param);

    upgrade("net", "NetParameter", param, step);
    blobs.put_back(param);
    return true;
}

} // namespace detail

/* ---- upgrades; they throw if a part cannot be converted, and return true otherwise ---- */

/** Runs all upgrades that the message requires. */
inline bool UpgradeNetAsNeeded(const string &param_file, NetParameter *param)
{
    if (!NetNeedsUpgrade(*param))
        return true;
    const detail::SetAside blobs(param);
    detail::upgrade(param_file, "NetParameter", param);
    blobs.put_back(param);
    return true;
}
/** Folds V0's padding layers into the layers that use their tops. */
inline void UpgradeV0PaddingLayers(const NetParameter &param, NetParameter *param_upgraded_pad)
{
    param_upgraded_pad->CopyFrom(param);
    detail::upgrade("net", "NetParameter", param_upgraded_pad, FERRY_UPGRADE_PADDING);
}
/** Upgrades V0 to V1. */
inline bool UpgradeV0Net(const NetParameter &v0_net_param, NetParameter *net_param)
{
    net_param->CopyFrom(v0_net_param);
    detail::upgrade("net", "NetParameter", net_param, FERRY_UPGRADE_V0);
    return true;
}
inline void UpgradeNetDataTransformation(NetParameter *net_param)
{
    detail::upgrade_step(net_param, FERRY_UPGRADE_DATA);
}
/** Upgrades V1 to the current form. */
inline bool UpgradeV1Net(const NetParameter &v1_net_param, NetParameter *net_param)
{
    net_param->CopyFrom(v1_net_param);
    return detail::upgrade_step(net_param, FERRY_UPGRADE_V1);
}
inline bool UpgradeV1LayerParameter(const V1LayerParameter &v1_layer_param,
                                    LayerParameter *layer_param)
{
    NetParameter net;

    net.add_layers()->CopyFrom(v1_layer_param);
    detail::upgrade_step(&net, FERRY_UPGRADE_V1);
    layer_param->CopyFrom(net.layer(0));
    return true;
}
/** The current name of a V1 type, "" for NONE; valid as long as the thread. */
inline const char *UpgradeV1LayerType(V1LayerParameter_LayerType type)
{
    static thread_local map<int, string> names;
    V1LayerParameter v1;
    LayerParameter today;

    if (type == V1LayerParameter_LayerType_NONE)
        return "";
    string &name = names[static_cast<int>(type)];
    if (name.empty()) {
        v1.set_type(type);
        UpgradeV1LayerParameter(v1, &today);
        name = today.type();
    }
    return name.c_str();
}
inline void UpgradeNetInput(NetParameter *net_param)
{
    detail::upgrade_step(net_param, FERRY_UPGRADE_INPUTS);
}
inline void UpgradeNetBatchNorm(NetParameter *net_param)
{
    detail::upgrade_step(net_param, FERRY_UPGRADE_BATCH_NORM);
}
inline bool UpgradeSolverType(SolverParameter *solver_param)
{
    if (SolverNeedsTypeUpgrade(*solver_param))
        detail::upgrade("solver", "SolverParameter", solver_param);
    return true;
}
inline bool UpgradeSolverAsNeeded(const string &, SolverParameter *param)
{
    return UpgradeSolverType(param);
}

/* ---- files ---- */

inline void ReadNetParamsFromTextFileOrDie(const string &param_file, NetParameter *param)
{
    ReadProtoFromTextFileOrDie(param_file, param);
    UpgradeNetAsNeeded(param_file, param);
}
inline void ReadNetParamsFromBinaryFileOrDie(const string &param_file, NetParameter *param)
{
    ReadProtoFromBinaryFileOrDie(param_file, param);
    UpgradeNetAsNeeded(param_file, param);
}
inline void ReadSolverParamsFromTextFileOrDie(const string &param_file, SolverParameter *param)
{
    ReadProtoFromTextFileOrDie(param_file, param);
    UpgradeSolverAsNeeded(param_file, param);
}

} // namespace caffe

#endif
