/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/graph.hpp
 * The layers of a net as OpenCV numbers them: the inputs are layer 0. See ferry/dnn.hpp.
 */
#ifndef FERRY_DNN_GRAPH_HPP
#define FERRY_DNN_GRAPH_HPP

#include <ferry/dnn/types.hpp>

#include <algorithm>
#include <map>

FERRY_DNN_BEGIN
namespace detail
{

/** A layer. */
struct Node {
    int place;                 /* the index in ferry's net; −1 for the inputs */
    std::string name, written; /* OpenCV's name, and the name in the text */
    std::string type;
    std::vector<std::string> bottoms, tops; /* for Silence, which has no tops, `tops` has its
                                             * bottoms */
    std::vector<int> makers;                /* for each bottom: the layer that had written it by
                                             * then */
    bool consumed;                          /* a layer has one of its tops as a bottom */
};

/** All layers, without the splits that a net inserts. */
class Graph
{
  public:
    Graph()
    {
    }
    explicit Graph(ferry_net *net)
    {
        for (int i = 0; i < ferry_net_input_count(net); i++)
            inputs.push_back(ferry_blob_name(ferry_net_input_at(net, i)));
        nodes.push_back(Node{ -1,
                              "_input",
                              "_input",
                              "__NetInputLayer__",
                              {},
                              inputs,
                              std::vector<int>(inputs.size(), 0),
                              false });
        for (const std::string &name : inputs)
            maker_[name] = 0;
        for (int i = 0; i < ferry_net_layer_count(net); i++)
            add(ferry_net_layer_at(net, i), i);
    }

    /** The number of a layer by OpenCV's name; −1 if there is none. */
    int number(const std::string &name) const
    {
        for (size_t k = 0; k < nodes.size(); k++) {
            if (nodes[k].name == name)
                return static_cast<int>(k);
        }
        return -1;
    }
    /** The layers whose tops no layer has as a bottom. */
    std::vector<int> unconnected() const
    {
        std::vector<int> out;

        for (size_t k = 0; k < nodes.size(); k++) {
            if (!nodes[k].consumed)
                out.push_back(static_cast<int>(k));
        }
        return out;
    }
    /** Whether a later layer writes into a top of the layer. */
    bool is_overwritten(int number) const
    {
        const Node &node = nodes[static_cast<size_t>(number)];

        for (size_t k = 0; k < node.tops.size(); k++) {
            if (maker_.at(node.tops[k]) != node.makers[k])
                return true;
        }
        return false;
    }
    /** Whether a layer's tops are outputs of the net: no layer has them as bottoms. */
    bool is_end(int number) const
    {
        const Node &node = nodes[static_cast<size_t>(number)];

        return !node.consumed && node.type != "Silence";
    }

    std::vector<std::string> inputs;
    std::vector<Node> nodes;

  private:
    void add(const ferry_layer *layer, int place)
    {
        const std::string written = ferry_layer_name(layer),
                          type = ferry_layer_get_type(layer)->name;
        std::vector<std::string> bottoms, tops;

        for (int i = 0; i < ferry_layer_bottom_count(layer); i++)
            bottoms.push_back(origin(ferry_blob_name(ferry_layer_bottom_at(layer, i))));
        for (int i = 0; i < ferry_layer_top_count(layer); i++)
            tops.push_back(ferry_blob_name(ferry_layer_top_at(layer, i)));
        if (type == "Input")
            return;
        if (is_inserted(type, written, bottoms)) {
            for (const std::string &top : tops)
                origins_[top] = bottoms[0];
            return;
        }
        for (const std::string &bottom : bottoms)
            nodes[static_cast<size_t>(maker_.at(bottom))].consumed = true;
        for (const std::string &top : tops)
            maker_[top] = static_cast<int>(nodes.size());
        if (type == "Silence") /* as in OpenCV, where the layer passes its inputs on */
            tops = bottoms;
        std::vector<int> makers;
        for (const std::string &top : tops)
            makers.push_back(maker_.at(top));
        nodes.push_back(Node{ place, unused(type == "Convolution" ? tops[0] : written), written,
                              type, bottoms, tops, makers, false });
    }
    static bool is_inserted(const std::string &type, const std::string &name,
                            const std::vector<std::string> &bottoms)
    {
        const std::string end = "_split";

        return type == "Split" && name.size() > end.size() &&
               !name.compare(name.size() - end.size(), end.size(), end) &&
               !name.find(bottoms[0] + "_");
    }
    /** The top that a blob is a copy of, if a split made the blob; else the blob itself. */
    std::string origin(const std::string &blob) const
    {
        const std::map<std::string, std::string>::const_iterator found = origins_.find(blob);

        return found == origins_.end() ? blob : found->second;
    }
    /** A unique name: if several layers have one name, the second gets name_1. */
    std::string unused(const std::string &name)
    {
        const int before = taken_[name]++;

        return before ? name + "_" + std::to_string(before) : name;
    }

    std::map<std::string, int> maker_, taken_;
    std::map<std::string, std::string> origins_;
};

} // namespace detail
FERRY_DNN_END

#endif
