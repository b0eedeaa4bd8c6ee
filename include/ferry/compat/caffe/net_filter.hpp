/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/net_filter.hpp
 * Selects the layers of a message that a NetState includes, by their include and exclude rules. Not
 * for programs, which call Net::FilterNet and Net::StateMeetsRule.
 */
#ifndef FERRY_COMPAT_CAFFE_NET_FILTER_HPP
#define FERRY_COMPAT_CAFFE_NET_FILTER_HPP

#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/messages.hpp>

namespace caffe
{
namespace detail
{

inline bool has_stage(const NetState &state, const string &stage)
{
    for (int i = 0; i < state.stage_size(); i++)
        if (state.stage(i) == stage)
            return true;
    return false;
}

/**
 * Whether a state has the rule's phase, a level within its bounds, all of its stages, and none of
 * its not_stages.
 */
inline bool state_meets_rule(const NetState &state, const NetStateRule &rule)
{
    if (rule.has_phase() && rule.phase() != state.phase())
        return false;
    if ((rule.has_min_level() && state.level() < rule.min_level()) ||
        (rule.has_max_level() && state.level() > rule.max_level()))
        return false;
    for (int i = 0; i < rule.stage_size(); i++)
        if (!has_stage(state, rule.stage(i)))
            return false;
    for (int i = 0; i < rule.not_stage_size(); i++)
        if (has_stage(state, rule.not_stage(i)))
            return false;
    return true;
}

/**
 * A layer is included if one of its include rules applies, or if it has no include rule and no
 * exclude rule applies.
 */
inline bool is_included(const NetState &state, const LayerParameter &layer)
{
    CHECK(layer.include_size() == 0 || layer.exclude_size() == 0)
        << "Specify either include rules or exclude rules; not both.";
    for (int i = 0; i < layer.include_size(); i++)
        if (state_meets_rule(state, layer.include(i)))
            return true;
    for (int i = 0; i < layer.exclude_size(); i++)
        if (state_meets_rule(state, layer.exclude(i)))
            return false;
    return layer.include_size() == 0;
}

/** Copies the message without the layers that the state excludes. */
inline void filter_net(const NetParameter &param, NetParameter *filtered)
{
    filtered->CopyFrom(param);
    filtered->clear_layer();
    for (int i = 0; i < param.layer_size(); i++)
        if (is_included(param.state(), param.layer(i)))
            filtered->add_layer()->CopyFrom(param.layer(i));
}

} // namespace detail
} // namespace caffe

#endif
