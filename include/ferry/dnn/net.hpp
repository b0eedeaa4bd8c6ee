/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/net.hpp Net with OpenCV 4's methods. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_NET_HPP
#define FERRY_DNN_NET_HPP

#include <ferry/dnn/cost.hpp>
#include <ferry/dnn/impl.hpp>
#include <ferry/dnn/layer.hpp>

#include <fstream>

FERRY_DNN_BEGIN

/**
 * A net from a prototxt and its weights, which readNetFromCaffe creates. Copies refer to the same
 * net. Every error is an Exception; the net is then as before. Threads: one net from one thread at
 * a time. [cv::dnn::Net]
 */
class Net
{
  public:
    /** Creates a net without layers. */
    Net() : impl_(std::make_shared<detail::Impl>()), layers_(std::make_shared<detail::Layers>())
    {
    }

    // ---- inputs and passes ----

    /**
     * Sets the next value of an input ("": the first one) to (blob − mean of the channel) ×
     * scalefactor, as a copy. The blob may have any element type, with one channel.
     */
    void setInput(InputArray blob, const String &name = "", double scalefactor = 1.0,
                  const Scalar &mean = Scalar())
    {
        impl_->set_input(detail::normalised(detail::matrix(blob), scalefactor, mean), name);
    }
    /** As setInput, for values in that shape, which are copied. */
    void setInput(const float *values, const MatShape &shape, const String &name = "")
    {
        detail::require(values != nullptr, "values != NULL", "setInput");
        const Mat blob(static_cast<int>(shape.size()), shape.data(), CV_32F,
                       const_cast<float *>(values));
        impl_->set_input(detail::normalised(blob, 1, Scalar()), name);
    }
    /** Sets the shape that an input without a shape in the text has before setInput. */
    void setInputShape(const String &inputName, const MatShape &shape)
    {
        impl_->set_input_shape(inputName, shape);
    }
    /** Sets names that setInput accepts instead of the text's, in the same order. */
    void setInputsNames(const std::vector<String> &inputBlobNames)
    {
        impl_->set_labels(std::vector<std::string>(inputBlobNames.begin(), inputBlobNames.end()));
    }

    /**
     * Runs the net and returns the first output of a layer ("": the last one). The matrix belongs
     * to the caller: a later pass does not change it. Layers that the output does not depend on are
     * not run.
     */
    Mat forward(const String &outputName = String())
    {
        return first(run({ outputName }, detail::FAILED)[0]);
    }
    /** Runs the net and returns all outputs of a layer ("": the last one). */
    void forward(OutputArrayOfArrays outputBlobs, const String &outputName = String())
    {
        detail::give(outputBlobs, run({ outputName }, detail::FAILED)[0]);
    }
    /** Runs the net and returns the first outputs of several layers. */
    void forward(OutputArrayOfArrays outputBlobs, const std::vector<String> &outBlobNames)
    {
        std::vector<Mat> out;

        for (const std::vector<Mat> &tops : run(outBlobNames, detail::NOT_FOUND))
            out.push_back(first(tops));
        detail::give(outputBlobs, out);
    }
    /** Runs the net and returns all outputs of several layers. */
    void forward(std::vector<std::vector<Mat>> &outputBlobs,
                 const std::vector<String> &outBlobNames)
    {
        outputBlobs = run(outBlobNames, detail::NOT_FOUND);
    }
#ifdef OPENCV_CORE_HPP
    /** As forward(name); the result, or the error, is complete when this returns. */
    cv::AsyncArray forwardAsync(const String &outputName = String())
    {
        cv::AsyncPromise promise;
        cv::AsyncArray result = promise.getArrayResult();

        try {
            promise.setValue(forward(outputName));
        } catch (const Exception &error) {
            promise.setException(error);
        }
        return result;
    }
#endif

    // ---- layers ----

    /** Whether there are no layers. */
    bool empty() const
    {
        return impl_->empty();
    }
    /** The names of all layers except layer 0, in order. */
    std::vector<String> getLayerNames() const
    {
        const std::vector<detail::Node> &nodes = impl_->graph("getLayerNames").nodes;
        std::vector<String> names;

        for (size_t k = 1; k < nodes.size(); k++)
            names.push_back(nodes[k].name);
        return names;
    }
    /** The number of a layer; −1 for an unknown name. */
    int getLayerId(const String &layer) const
    {
        return impl_->graph("getLayerId").number(layer);
    }
    /** A layer by number, or by name. The outputs of layer 0 are the net's inputs. */
    Ptr<Layer> getLayer(int layerId) const
    {
        return layers_->get(*impl_, layerId);
    }
    Ptr<Layer> getLayer(const String &layerName) const
    {
        return getLayer(impl_->number(layerName, "getLayer"));
    }
    Ptr<Layer> getLayer(const char *layerName) const
    {
        return getLayer(String(layerName));
    }
    /** The types of all layers, each once, in alphabetical order. */
    void getLayerTypes(std::vector<String> &layersTypes) const
    {
        layersTypes.clear();
        for (const detail::Node &node : impl_->graph("getLayerTypes").nodes)
            layersTypes.push_back(node.type);
        std::sort(layersTypes.begin(), layersTypes.end());
        layersTypes.erase(std::unique(layersTypes.begin(), layersTypes.end()), layersTypes.end());
    }
    /** The number of layers of a type. */
    int getLayersCount(const String &layerType) const
    {
        const std::vector<detail::Node> &nodes = impl_->graph("getLayersCount").nodes;

        return static_cast<int>(
            std::count_if(nodes.begin(), nodes.end(),
                          [&](const detail::Node &node) { return node.type == layerType; }));
    }
    /** The numbers of the layers whose outputs no layer reads. */
    std::vector<int> getUnconnectedOutLayers() const
    {
        return impl_->graph("getUnconnectedOutLayers").unconnected();
    }
    std::vector<String> getUnconnectedOutLayersNames() const
    {
        std::vector<String> names;

        for (int number : getUnconnectedOutLayers())
            names.push_back(impl_->node(number, "getUnconnectedOutLayersNames").name);
        return names;
    }

    // ---- parameters ----

    /** A copy of a layer's parameter; a parameter with one axis gets two. */
    Mat getParam(int layer, int numParam = 0) const
    {
        return detail::param_copy(*impl_, layer, numParam, "getParam");
    }
    Mat getParam(const String &layerName, int numParam = 0) const
    {
        return getParam(impl_->number(layerName, "getParam"), numParam);
    }
    /** Replaces a layer's parameter by one with the same number of elements. */
    void setParam(int layer, int numParam, const Mat &blob)
    {
        impl_->set_param(layer, numParam, detail::normalised(blob, 1, Scalar()), "setParam");
    }
    void setParam(const String &layerName, int numParam, const Mat &blob)
    {
        setParam(impl_->number(layerName, "setParam"), numParam, blob);
    }

    // ---- shapes and cost ----

    /**
     * The numbers of all layers and the shapes of their inputs and outputs, for inputs of those
     * shapes.
     */
    void getLayersShapes(const std::vector<MatShape> &netInputShapes, std::vector<int> &layersIds,
                         std::vector<std::vector<MatShape>> &inLayersShapes,
                         std::vector<std::vector<MatShape>> &outLayersShapes) const
    {
        layersIds.clear();
        inLayersShapes.clear();
        outLayersShapes.clear();
        for (const detail::Line &line : impl_->lines(netInputShapes, "getLayersShapes")) {
            layersIds.push_back(line.number);
            inLayersShapes.push_back(line.ins);
            outLayersShapes.push_back(line.outs);
        }
    }
    void getLayersShapes(const MatShape &netInputShape, std::vector<int> &layersIds,
                         std::vector<std::vector<MatShape>> &inLayersShapes,
                         std::vector<std::vector<MatShape>> &outLayersShapes) const
    {
        getLayersShapes(several(netInputShape), layersIds, inLayersShapes, outLayersShapes);
    }
    /** The shapes of one layer. Without shapes, or with an empty one, for the current shapes of the
     * inputs. */
    void getLayerShapes(const std::vector<MatShape> &netInputShapes, const int layerId,
                        std::vector<MatShape> &inLayerShapes,
                        std::vector<MatShape> &outLayerShapes) const
    {
        const detail::Line line = line_of(layerId, netInputShapes, "getLayerShapes");

        inLayerShapes = line.ins;
        outLayerShapes = line.outs;
    }
    void getLayerShapes(const MatShape &netInputShape, const int layerId,
                        std::vector<MatShape> &inLayerShapes,
                        std::vector<MatShape> &outLayerShapes) const
    {
        getLayerShapes(several(netInputShape), layerId, inLayerShapes, outLayerShapes);
    }

    /** The operations of a pass, or of a layer, as OpenCV counts them. */
    int64_t getFLOPS(const std::vector<MatShape> &netInputShapes) const
    {
        int64_t n = 0;

        for (const detail::Line &line : impl_->lines(netInputShapes, "getFLOPS"))
            n += flops_of(line);
        return n;
    }
    int64_t getFLOPS(const MatShape &netInputShape) const
    {
        return getFLOPS(several(netInputShape));
    }
    int64_t getFLOPS(const int layerId, const std::vector<MatShape> &netInputShapes) const
    {
        return flops_of(line_of(layerId, netInputShapes, "getFLOPS"));
    }
    int64_t getFLOPS(const int layerId, const MatShape &netInputShape) const
    {
        return getFLOPS(layerId, several(netInputShape));
    }

    /** The bytes of parameters and of blobs: for each layer, for all, or for one. */
    void getMemoryConsumption(const std::vector<MatShape> &netInputShapes,
                              std::vector<int> &layerIds, std::vector<size_t> &weights,
                              std::vector<size_t> &blobs) const
    {
        layerIds.clear();
        weights.clear();
        blobs.clear();
        for (const detail::Line &line : impl_->lines(netInputShapes, "getMemoryConsumption")) {
            layerIds.push_back(line.number);
            weights.push_back(weights_of(line));
            blobs.push_back(sizeof(float) * static_cast<size_t>(detail::elements(line.outs)));
        }
    }
    void getMemoryConsumption(const MatShape &netInputShape, std::vector<int> &layerIds,
                              std::vector<size_t> &weights, std::vector<size_t> &blobs) const
    {
        getMemoryConsumption(several(netInputShape), layerIds, weights, blobs);
    }
    void getMemoryConsumption(const std::vector<MatShape> &netInputShapes, size_t &weights,
                              size_t &blobs) const
    {
        weights = blobs = 0;
        for (const detail::Line &line : impl_->lines(netInputShapes, "getMemoryConsumption")) {
            weights += weights_of(line);
            blobs += sizeof(float) * static_cast<size_t>(detail::elements(line.outs));
        }
    }
    void getMemoryConsumption(const MatShape &netInputShape, size_t &weights, size_t &blobs) const
    {
        getMemoryConsumption(several(netInputShape), weights, blobs);
    }
    void getMemoryConsumption(const int layerId, const std::vector<MatShape> &netInputShapes,
                              size_t &weights, size_t &blobs) const
    {
        const detail::Line line = line_of(layerId, netInputShapes, "getMemoryConsumption");

        weights = weights_of(line);
        blobs = sizeof(float) * static_cast<size_t>(detail::elements(line.outs));
    }
    void getMemoryConsumption(const int layerId, const MatShape &netInputShape, size_t &weights,
                              size_t &blobs) const
    {
        getMemoryConsumption(layerId, several(netInputShape), weights, blobs);
    }

    /**
     * Runs a pass layer by layer, and returns its time and those of all layers except layer 0, in
     * ticks of cv::getTickFrequency, which are nanoseconds. 0 before the first setInput. A fused
     * layer has 0.
     */
    int64_t getPerfProfile(std::vector<double> &timings)
    {
        double sum = 0;

        timings.clear();
        if (!impl_->is_fed())
            return 0;
        impl_->graph("getPerfProfile");
        layers_->flush(*impl_);
        for (double ms : impl_->profile()) {
            timings.push_back(ms * 1e6);
            sum += ms * 1e6;
        }
        return static_cast<int64_t>(sum);
    }

    // ---- device and fusion ----

    /** Has no effect: ferry computes. */
    void setPreferableBackend(int)
    {
    }
    /** Selects the device: the CPU, or ferry's opencl or cuda. FERRY_BACKEND overrides it. */
    void setPreferableTarget(int targetId)
    {
        impl_->set_target(targetId);
    }
    /** Sets whether layers are fused; by default they are. */
    void enableFusion(bool fusion)
    {
        impl_->set_fuse(fusion);
    }
    /** Has no effect: ferry selects the algorithm of a convolution, together with fusion. */
    void enableWinograd(bool)
    {
    }
    /** The layers as a digraph for Graphviz, with types and shapes. */
    String dump() const
    {
        return detail::digraph(*impl_);
    }
    void dumpToFile(const String &path) const
    {
        std::ofstream file(path.c_str());

        file << dump();
        file.close();
        if (!file)
            detail::fail(detail::FAILED, "Can't write \"" + path + "\"", "dumpToFile");
    }

  private:
    friend class Model;
    friend Net detail::opened_net(const std::string &, const std::string &,
                                  const std::shared_ptr<detail::Weights> &);

    /** Whether all inputs have a shape, from the text or from a blob. */
    bool knows_shapes() const
    {
        return impl_->is_open();
    }
    static const Mat &first(const std::vector<Mat> &tops)
    {
        if (tops.empty())
            detail::fail(detail::NOT_FOUND, "Requested blob not found: the layer has no output",
                         "forward");
        return tops[0];
    }
    static std::vector<MatShape> several(const MatShape &one)
    {
        return one.empty() ? std::vector<MatShape>() : std::vector<MatShape>(1, one);
    }
    /** Returns all outputs of layers; `missing` is the code of the error for an unknown name. */
    std::vector<std::vector<Mat>> run(const std::vector<String> &names, int missing)
    {
        std::vector<int> numbers;

        const detail::Graph &graph = impl_->graph("forward");
        for (const String &name : names) {
            const int number = name.empty() ? static_cast<int>(graph.nodes.size()) - 1
                                            : impl_->number(name, "forward", missing);

            if (!number)
                detail::fail(detail::NOT_FOUND,
                             "Requested blob not found: layer 0 holds the inputs", "forward");
            numbers.push_back(number);
        }
        layers_->flush(*impl_);
        return impl_->forward(numbers);
    }
    detail::Line line_of(int layer, const std::vector<MatShape> &shapes, const char *function) const
    {
        impl_->node(layer, function);
        return impl_->lines(shapes, function)[static_cast<size_t>(layer)];
    }
    int64_t flops_of(const detail::Line &line) const
    {
        MatShape weights;

        if (!line.number)
            return 0;
        if (impl_->n_params(line.number, "getFLOPS"))
            weights = detail::shape_of(impl_->param(line.number, 0, "getFLOPS"));
        return detail::flops(impl_->node(line.number, "getFLOPS").type, impl_->message(line.number),
                             weights, line.ins, line.outs);
    }
    size_t weights_of(const detail::Line &line) const
    {
        size_t n = 0;

        for (int k = 0; k < impl_->n_params(line.number, "getMemoryConsumption"); k++)
            n += static_cast<size_t>(
                ferry_blob_element_count(impl_->param(line.number, k, "getMemoryConsumption")));
        return n * sizeof(float);
    }

    std::shared_ptr<detail::Impl> impl_;
    std::shared_ptr<detail::Layers> layers_;
};

FERRY_DNN_END

#endif
