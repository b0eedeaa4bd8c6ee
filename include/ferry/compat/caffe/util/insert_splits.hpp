/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/insert_splits.hpp
 * Inserts the Split layers of blobs with several consumers into a message; ferry's nets insert them
 * by themselves. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_INSERT_SPLITS_HPP
#define FERRY_COMPAT_CAFFE_UTIL_INSERT_SPLITS_HPP

#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/messages.hpp>

#include <algorithm>

namespace caffe
{

inline string SplitLayerName(const string &layer_name, const string &blob_name, int blob_idx)
{
    return blob_name + "_" + layer_name + "_" + std::to_string(blob_idx) + "_split";
}
inline string SplitBlobName(const string &layer_name, const string &blob_name, int blob_idx,
                            int split_idx)
{
    return SplitLayerName(layer_name, blob_name, blob_idx) + "_" + std::to_string(split_idx);
}
/**
 * Creates a Split of top `blob_idx` of a layer. The blob's loss weight becomes that of the first
 * copy.
 */
inline void ConfigureSplitLayer(const string &layer_name, const string &blob_name, int blob_idx,
                                int split_count, float loss_weight,
                                LayerParameter *split_layer_param)
{
    const bool weighs = loss_weight < 0 || loss_weight > 0;

    split_layer_param->Clear();
    split_layer_param->add_bottom(blob_name);
    split_layer_param->set_name(SplitLayerName(layer_name, blob_name, blob_idx));
    split_layer_param->set_type("Split");
    for (int k = 0; k < split_count; k++) {
        split_layer_param->add_top(SplitBlobName(layer_name, blob_name, blob_idx, k));
        if (weighs)
            split_layer_param->add_loss_weight(k == 0 ? loss_weight : 0.0F);
    }
}

namespace detail
{

/**
 * The uses of the blobs of a message: for a top of a layer, the number of bottoms that use it
 * before its name is redefined.
 */
class SplitUses
{
  public:
    typedef pair<int, int> Top; /* the layer, and the top's index */

    explicit SplitUses(const NetParameter &param)
    {
        map<string, Top> latest;

        for (int i = 0; i < param.layer_size(); i++) {
            const LayerParameter &layer = param.layer(i);

            for (int k = 0; k < layer.bottom_size(); k++) {
                if (!latest.count(layer.bottom(k)))
                    fail(FERRY_EFORMAT, "Unknown bottom blob '" + layer.bottom(k) + "' (layer '" +
                                            layer.name() + "', bottom index " + std::to_string(k) +
                                            ")");
                source_[make_pair(i, k)] = latest[layer.bottom(k)];
                count_[latest[layer.bottom(k)]]++;
            }
            for (int k = 0; k < layer.top_size(); k++)
                latest[layer.top(k)] = make_pair(i, k);
            /* A top with a loss weight is also used by the loss. */
            for (int k = 0; k < std::min(layer.loss_weight_size(), layer.top_size()); k++)
                if (layer.loss_weight(k) < 0 || layer.loss_weight(k) > 0) {
                    weight_[make_pair(i, k)] = layer.loss_weight(k);
                    count_[make_pair(i, k)]++;
                }
        }
    }
    /** The number of copies of a top; with 0 and 1 it is not split. */
    int count(const Top &top) const
    {
        const auto found = count_.find(top);

        return found == count_.end() ? 0 : found->second;
    }
    float weight(const Top &top) const
    {
        const auto found = weight_.find(top);

        return found == weight_.end() ? 0.0F : found->second;
    }
    /** The top that a bottom uses, and the next copy of it. */
    Top source(int layer, int bottom) const
    {
        return source_.at(make_pair(layer, bottom));
    }
    int next(const Top &top)
    {
        if (!given_.count(top)) /* the loss uses the first copy */
            given_[top] = weight_.count(top) ? 1 : 0;
        return given_[top]++;
    }

  private:
    map<pair<int, int>, Top> source_;
    map<Top, int> count_, given_;
    map<Top, float> weight_;
};

} // namespace detail

/** Inserts a Split after each layer for each of its tops that is used more than once. */
inline void InsertSplits(const NetParameter &param, NetParameter *param_split)
{
    detail::SplitUses uses(param);

    param_split->CopyFrom(param);
    param_split->clear_layer();
    for (int i = 0; i < param.layer_size(); i++) {
        LayerParameter *const layer = param_split->add_layer();

        layer->CopyFrom(param.layer(i));
        for (int k = 0; k < layer->bottom_size(); k++) {
            const detail::SplitUses::Top top = uses.source(i, k);

            if (uses.count(top) > 1)
                layer->set_bottom(k, SplitBlobName(param.layer(top.first).name(), layer->bottom(k),
                                                   top.second, uses.next(top)));
        }
        for (int k = 0; k < param.layer(i).top_size(); k++) {
            const detail::SplitUses::Top top(i, k);
            const float weight = uses.weight(top);

            if (uses.count(top) <= 1)
                continue;
            ConfigureSplitLayer(param.layer(i).name(), param.layer(i).top(k), k, uses.count(top),
                                weight, param_split->add_layer());
            if (weight < 0 || weight > 0)
                layer->clear_loss_weight();
        }
    }
}

} // namespace caffe

#endif
