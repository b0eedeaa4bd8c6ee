/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/layer.hpp
 * Access to single layers and their parameters, and a net as a graph for Graphviz. See
 * ferry/dnn.hpp.
 */
#ifndef FERRY_DNN_LAYER_HPP
#define FERRY_DNN_LAYER_HPP

#include <ferry/dnn/impl.hpp>

FERRY_DNN_BEGIN

class Net;

namespace detail
{
class Layers;

Net opened_net(const std::string &text, const std::string &name,
               const std::shared_ptr<Weights> &weights);
} // namespace detail

/**
 * A layer of a net: its name, its type, and copies of its parameters. `blobs` is empty if the layer
 * got no weights. Matrices that are in `blobs` when the net runs for the first time after getLayer
 * become the parameters. [cv::dnn::Layer]
 */
class Layer
{
  public:
    Layer() : preferableTarget(0)
    {
    }
    /** The index of a blob among the layer's outputs; −1 if it belongs to another layer. */
    int outputNameToIndex(const String &outputName) const
    {
        const std::vector<std::string>::const_iterator found =
            std::find(tops_.begin(), tops_.end(), outputName);

        return found == tops_.end() ? -1 : static_cast<int>(found - tops_.begin());
    }

    std::vector<Mat> blobs;
    String name, type;
    int preferableTarget;

  private:
    friend class detail::Layers;
    std::vector<std::string> tops_;
};

namespace detail
{

template <typename T> void convert(float *to, const Mat &from, size_t n)
{
    const T *values = from.ptr<T>();

    for (size_t k = 0; k < n; k++)
        to[k] = static_cast<float>(values[k]);
}

/** A copy, as floats, of a matrix with one channel. */
inline Mat floats(const Mat &from, const char *function)
{
    const Mat dense = from.isContinuous() ? from : from.clone();
    Mat to = made(shape_of(from), CV_32F);
    float *values = to.ptr<float>();
    const size_t n = dense.total();

    require(from.channels() == 1, "blob.channels() == 1", function);
    if (!n)
        return to;
    switch (from.depth()) {
    case CV_8U:
        convert<uint8_t>(values, dense, n);
        break;
    case CV_8S:
        convert<int8_t>(values, dense, n);
        break;
    case CV_32S:
        convert<int32_t>(values, dense, n);
        break;
    case CV_32F:
        std::memcpy(values, dense.data, n * sizeof(float));
        break;
    case CV_64F:
        convert<double>(values, dense, n);
        break;
    default:
        fail(BAD_ARGUMENT, "a blob of this depth is not supported", function);
    }
    return to;
}

/** Computes (blob − mean of the channel) × scale as floats. */
inline Mat normalised(const Mat &from, double scale, const Scalar &mean)
{
    Mat to = floats(from, "setInput");
    bool shifted = false;

    for (int k = 0; k < 4; k++)
        shifted = shifted || mean[k] < 0 || mean[k] > 0;
    require(!shifted || (to.dims > 1 && to.size[1] <= 4), "inputsData[i].size[1] <= 4", "setInput");
    if (!shifted && scale <= 1 && scale >= 1)
        return to;
    const size_t channels = to.dims > 1 ? static_cast<size_t>(to.size[1]) : 1;
    const size_t outer = to.dims && to.size[0] ? static_cast<size_t>(to.size[0]) * channels : 1;
    const size_t inner = to.total() / std::max<size_t>(1, outer);
    float *value = to.ptr<float>();
    for (size_t k = 0; k < to.total(); k++) {
        const float less =
            shifted ? static_cast<float>(mean[static_cast<int>(k / inner % channels)]) : 0;

        value[k] = (value[k] - less) * static_cast<float>(scale);
    }
    return to;
}

/** A copy of a parameter. A parameter with one axis gets two, like OpenCV 4's matrices. */
inline Mat param_copy(Impl &net, int number, int index, const char *function)
{
    const ferry_blob *blob = net.param(number, index, function);
    MatShape shape = shape_of(blob);

    if (shape.size() == 1)
        shape.push_back(1);
    return copy_of(blob, shape, function);
}

/** The layers that a program has requested. */
class Layers
{
  public:
    Ptr<Layer> get(Impl &net, int number)
    {
        const Node &node = net.node(number, "getLayer");
        Ptr<Layer> &layer = layers_[number];

        if (layer)
            return layer;
        const Ptr<Layer> fresh(new Layer);
        fresh->name = node.name;
        fresh->type = node.type;
        fresh->preferableTarget = net.target();
        fresh->tops_ = node.tops;
        if (!net.is_without(number, "getLayer")) {
            for (int k = 0; k < net.n_params(number, "getLayer"); k++)
                fresh->blobs.push_back(param_copy(net, number, k, "getLayer"));
        }
        layer = fresh;
        return layer;
    }

    /** Copies the matrices that programs have put into `blobs` to the net, and forgets the
     * layers. */
    void flush(Impl &net)
    {
        for (const std::map<int, Ptr<Layer>>::value_type &one : layers_) {
            for (size_t k = 0; k < one.second->blobs.size(); k++)
                set(net, one.first, static_cast<int>(k), one.second->blobs[k]);
        }
        layers_.clear();
    }

  private:
    static void set(Impl &net, int number, int index, const Mat &blob)
    {
        const Mat values = floats(blob, "forward");
        const ferry_blob *present = net.param(number, index, "forward");
        const bool same =
            !net.is_without(number, "forward") &&
            values.total() == static_cast<size_t>(ferry_blob_element_count(present)) &&
            !std::memcmp(values.data, checked(ferry_blob_host_data(present), "forward"),
                         values.total() * sizeof(float));

        if (!same)
            net.set_param(number, index, values, "forward");
    }

    std::map<int, Ptr<Layer>> layers_;
};

inline std::string quoted(std::string text)
{
    for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return '"' + text + '"';
}

/** The layers as a digraph for Graphviz. */
inline std::string digraph(Impl &net)
{
    std::map<std::string, int> makers;
    std::string text = "digraph G {\n";

    for (const Line &line : net.lines({}, "dump")) {
        const Node &node = net.node(line.number, "dump");
        const std::string id = std::to_string(line.number);
        std::string label = node.name + "\\n" + (line.number ? node.type : "Input") + "\\noutput:";

        for (const MatShape &shape : line.outs) {
            for (size_t k = 0; k < shape.size(); k++)
                label += (k ? " x " : " ") + std::to_string(shape[k]);
        }
        text += "\t\"" + id + "\" [label=" + quoted(label) + " shape=record]\n";
        for (const std::string &bottom : node.bottoms)
            text += "\t\"" + std::to_string(makers[bottom]) + "\" -> \"" + id + "\"\n";
        for (const std::string &top : node.tops)
            makers[top] = line.number;
    }
    return text + "}\n";
}

} // namespace detail
FERRY_DNN_END

#endif
