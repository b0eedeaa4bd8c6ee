/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/model.hpp
 * Nets with the preparation of their images and the interpretation of their outputs.
 */
#ifndef FERRY_DNN_MODEL_HPP
#define FERRY_DNN_MODEL_HPP

#include <ferry/dnn/image.hpp>
#include <ferry/dnn/read.hpp>

FERRY_DNN_BEGIN

/** A net for images. Setters return the model. [cv::dnn::Model] */
class Model
{
  public:
    /** Creates a model from files, or from a net, which the model shares. */
    explicit Model(const String &model, const String &config = "") : Model(readNet(model, config))
    {
    }
    explicit Model(const Net &network)
        : net_(network), scale_(1, 1, 1, 1), swap_(false), crop_(false)
    {
        std::vector<MatShape> ins, outs;

        if (!net_.knows_shapes())
            return;
        net_.getLayerShapes(MatShape(), 0, ins, outs);
        if (!ins.empty() && ins[0].size() == 4)
            size_ = Size(ins[0][3], ins[0][2]);
    }
    /** Sets the size to which images are resized; by default that of the net's first input. */
    Model &setInputSize(const Size &size)
    {
        size_ = size;
        return *this;
    }
    Model &setInputSize(int width, int height)
    {
        return setInputSize(Size(width, height));
    }
    /** Sets the values that are subtracted from the channels. */
    Model &setInputMean(const Scalar &mean)
    {
        mean_ = mean;
        return *this;
    }
    /** Sets the factors by which the channels are multiplied after that; a single factor applies to
     * all. */
    Model &setInputScale(const Scalar &scale)
    {
        const bool single = !(scale[1] < 0 || scale[1] > 0 || scale[2] < 0 || scale[2] > 0 ||
                              scale[3] < 0 || scale[3] > 0);

        scale_ = single ? Scalar(scale[0], scale[0], scale[0], scale[0]) : scale;
        return *this;
    }
    /** Sets whether an image is scaled to cover the size and cropped, instead of stretched. */
    Model &setInputCrop(bool crop)
    {
        crop_ = crop;
        return *this;
    }
    /** Sets whether the first and the third channel are exchanged. */
    Model &setInputSwapRB(bool swapRB)
    {
        swap_ = swapRB;
        return *this;
    }
    void setInputParams(double scale = 1.0, const Size &size = Size(),
                        const Scalar &mean = Scalar(), bool swapRB = false, bool crop = false)
    {
        setInputSize(size)
            .setInputMean(mean)
            .setInputScale(Scalar(scale))
            .setInputSwapRB(swapRB)
            .setInputCrop(crop);
    }
    /** Sets the layers whose outputs predict returns; by default those whose outputs no layer
     * reads. */
    Model &setOutputNames(const std::vector<String> &outNames)
    {
        names_ = outNames;
        return *this;
    }
    Model &setPreferableBackend(Backend backendId)
    {
        net_.setPreferableBackend(backendId);
        return *this;
    }
    Model &setPreferableTarget(Target targetId)
    {
        net_.setPreferableTarget(targetId);
        return *this;
    }
    Model &enableWinograd(bool useWinograd)
    {
        net_.enableWinograd(useWinograd);
        return *this;
    }
    /** The outputs for an image. */
    void predict(InputArray frame, OutputArrayOfArrays outs) const
    {
        detail::give(outs, outputs(detail::matrix(frame)));
    }
    operator Net &() const
    {
        return net_;
    }
    Net &getNetwork_() const
    {
        return net_;
    }

  protected:
    std::vector<Mat> outputs(const Mat &frame) const
    {
        std::vector<Mat> outs;

        if (size_.width <= 0 || size_.height <= 0)
            detail::fail(detail::BAD_SIZE, "Input size not specified", "processFrame");
        net_.setInput(blob(frame));
        if (net_.getLayer(0)->outputNameToIndex("im_info") != -1) { /* for Faster R-CNN and R-FCN */
            const float info[] = { static_cast<float>(size_.height),
                                   static_cast<float>(size_.width), 1.6f };
            net_.setInput(info, MatShape{ 1, 3 }, "im_info");
        }
        net_.forward(outs, names_.empty() ? net_.getUnconnectedOutLayersNames() : names_);
        return outs;
    }
    /** The output of a net that has only one. */
    Mat output(const Mat &frame) const
    {
        const std::vector<Mat> outs = outputs(frame);

        detail::require(outs.size() == 1, "outs.size() == 1", "processFrame");
        return outs[0];
    }

    mutable Net net_;
    std::vector<String> names_;
    Size size_;

  private:
    Mat blob(const Mat &frame) const
    {
        Mat blob = blobFromImage(frame, 1, size_, mean_, swap_, crop_);
        const size_t area = static_cast<size_t>(size_.width) * static_cast<size_t>(size_.height);

        detail::require(!blob.empty(), "!image.empty()", "processFrame");
        for (int c = 0; c < blob.size[1]; c++) {
            float *plane = blob.ptr<float>(0, c);

            for (size_t k = 0; k < area; k++)
                plane[k] *= static_cast<float>(scale_[c]);
        }
        return blob;
    }

    Scalar scale_, mean_;
    bool swap_, crop_;
};

/** A net whose output is a score for each class. [cv::dnn::ClassificationModel] */
class ClassificationModel : public Model
{
  public:
    explicit ClassificationModel(const String &model, const String &config = "")
        : Model(model, config), softmax_(false)
    {
    }
    explicit ClassificationModel(const Net &network) : Model(network), softmax_(false)
    {
    }
    /** Sets whether the scores go through a softmax; by default they do not. */
    ClassificationModel &setEnableSoftmaxPostProcessing(bool enable)
    {
        softmax_ = enable;
        return *this;
    }
    bool getEnableSoftmaxPostProcessing() const
    {
        return softmax_;
    }
    /** Returns the best class of an image and its score. */
    std::pair<int, float> classify(InputArray frame)
    {
        const Mat scores = output(detail::matrix(frame));
        const float *begin = scores.ptr<float>(), *end = begin + scores.total();
        const float *best = std::max_element(begin, end);
        float sum = 0;

        if (!softmax_)
            return std::make_pair(static_cast<int>(best - begin), *best);
        for (const float *one = begin; one < end; one++)
            sum += std::exp(*one - *best);
        return std::make_pair(static_cast<int>(best - begin), 1 / sum);
    }
    void classify(InputArray frame, int &classId, float &conf)
    {
        const std::pair<int, float> best = classify(frame);

        classId = best.first;
        conf = best.second;
    }

  private:
    bool softmax_;
};

/**
 * A net whose output is a map for each point, the background last, or the points.
 * [cv::dnn::KeypointsModel]
 */
class KeypointsModel : public Model
{
  public:
    explicit KeypointsModel(const String &model, const String &config = "") : Model(model, config)
    {
    }
    explicit KeypointsModel(const Net &network) : Model(network)
    {
    }
    /** Returns the points in the image's pixels; (−1, −1) if a map stays below the threshold. */
    std::vector<Point2f> estimate(InputArray frame, float thresh = 0.5f)
    {
        const Mat image = detail::matrix(frame), out = output(image);
        std::vector<Point2f> points;

        if (out.dims != 4) {
            const float *values = out.ptr<float>();

            for (size_t k = 0; k + 1 < out.total(); k += 2)
                points.push_back(Point2f(values[k], values[k + 1]));
            return points;
        }
        for (int n = 0; n + 1 < out.size[1]; n++) {
            const float *map = out.ptr<float>(0, n);
            const int height = out.size[2], width = out.size[3];
            const float *best = std::max_element(map, map + height * width);
            const int at = static_cast<int>(best - map);

            points.push_back(
                *best > thresh
                    ? Point2f(static_cast<float>(at % width) * static_cast<float>(image.cols) /
                                  static_cast<float>(width),
                              static_cast<float>(at / width) * static_cast<float>(image.rows) /
                                  static_cast<float>(height))
                    : Point2f(-1, -1));
        }
        return points;
    }
};

/** A net whose output is a score for each class and pixel. [cv::dnn::SegmentationModel] */
class SegmentationModel : public Model
{
  public:
    explicit SegmentationModel(const String &model, const String &config = "")
        : Model(model, config)
    {
    }
    explicit SegmentationModel(const Net &network) : Model(network)
    {
    }
    /** Computes the class of each pixel of the net's output, as bytes. */
    void segment(InputArray frame, OutputArray mask)
    {
        const Mat scores = output(detail::matrix(frame));

        detail::require(scores.dims == 4, "score.dims == 4", "segment");
        const size_t area =
            static_cast<size_t>(scores.size[2]) * static_cast<size_t>(scores.size[3]);
        const float *all = scores.ptr<float>();
        Mat classes(scores.size[2], scores.size[3], CV_8U);
        for (size_t k = 0; k < area; k++) {
            size_t best = 0;

            for (size_t c = 1; c < static_cast<size_t>(scores.size[1]); c++)
                best = all[c * area + k] > all[best * area + k] ? c : best;
            classes.data[k] = static_cast<unsigned char>(best);
        }
        detail::give(mask, classes);
    }
};

/** A net that ends with DetectionOutput. [cv::dnn::DetectionModel] */
class DetectionModel : public Model
{
  public:
    explicit DetectionModel(const String &model, const String &config = "")
        : Model(model, config), across_(false)
    {
    }
    explicit DetectionModel(const Net &network) : Model(network), across_(false)
    {
    }
    /** Sets whether boxes of different classes suppress one another; by default they do not. */
    DetectionModel &setNmsAcrossClasses(bool value)
    {
        across_ = value;
        return *this;
    }
    bool getNmsAcrossClasses() const
    {
        return across_;
    }
    /**
     * Returns classes, confidences and boxes in the image's pixels; nmsThreshold 0: without
     * suppression.
     */
    void detect(InputArray frame, std::vector<int> &classIds, std::vector<float> &confidences,
                std::vector<Rect> &boxes, float confThreshold = 0.5f, float = 0.0f)
    {
        const Mat image = detail::matrix(frame);
        const String kind = net_.getLayer(net_.getLayerNames().back())->type;
        const bool is_faster = net_.getLayer(0)->outputNameToIndex("im_info") != -1;
        const Size of = is_faster ? size_ : Size(image.cols, image.rows);

        if (kind != "DetectionOutput")
            detail::fail(detail::NOT_IMPLEMENTED, "Unknown output layer type: \"" + kind + "\"",
                         "detect");
        classIds.clear();
        confidences.clear();
        boxes.clear();
        for (const Mat &out : outputs(image)) {
            for (const float *row = out.ptr<float>(), *end = row + out.total(); row + 7 <= end;
                 row += 7) {
                if (row[2] < confThreshold)
                    continue;
                classIds.push_back(static_cast<int>(row[1]));
                confidences.push_back(row[2]);
                boxes.push_back(box(row + 3, of.width, of.height));
            }
        }
    }

  private:
    /**
     * A box inside the image. Corners are pixels, or fractions of the image's size if as pixels
     * they make the box too small.
     */
    static Rect box(const float *corners, int image_width, int image_height)
    {
        int left = static_cast<int>(corners[0]), top = static_cast<int>(corners[1]);
        int width = static_cast<int>(corners[2]) - left + 1,
            height = static_cast<int>(corners[3]) - top + 1;

        if (width <= 2 || height <= 2) {
            left = static_cast<int>(corners[0] * static_cast<float>(image_width));
            top = static_cast<int>(corners[1] * static_cast<float>(image_height));
            width = static_cast<int>(corners[2] * static_cast<float>(image_width)) - left + 1;
            height = static_cast<int>(corners[3] * static_cast<float>(image_height)) - top + 1;
        }
        left = std::max(0, std::min(left, image_width - 1));
        top = std::max(0, std::min(top, image_height - 1));
        return Rect(left, top, std::max(1, std::min(width, image_width - left)),
                    std::max(1, std::min(height, image_height - top)));
    }

    bool across_;
};

FERRY_DNN_END

#endif
