/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/impl.hpp
 * The state that the copies of a Net share: open nets, inputs, parameters. See ferry/dnn.hpp.
 */
#ifndef FERRY_DNN_IMPL_HPP
#define FERRY_DNN_IMPL_HPP

#include <ferry/dnn/runner.hpp>
#include <ferry/dnn/text.hpp>

#include <list>
#include <utility>

FERRY_DNN_BEGIN
namespace detail
{

/** A file of weights. A temporary one is removed with the object. */
class Weights
{
  public:
    Weights(const std::string &path, bool remove) : path_(path), remove_(remove)
    {
    }
    ~Weights()
    {
        if (remove_)
            std::remove(path_.c_str());
    }
    Weights(const Weights &) = delete;
    Weights &operator=(const Weights &) = delete;
    const std::string &path() const
    {
        return path_;
    }

  private:
    std::string path_;
    bool remove_;
};

/** A layer, with the shapes of its bottoms and tops. */
struct Line {
    int number;
    std::vector<MatShape> ins, outs;
};

/**
 * The detections in OpenCV's order: by image, the best first. The result has `rows` rows, of which
 * the last are zeros.
 */
inline Mat padded(const Mat &found, size_t rows)
{
    const float *all = found.ptr<float>();
    std::vector<const float *> kept;
    Mat out = made(MatShape{ 1, 1, static_cast<int>(rows), 7 }, CV_32F);
    float *to = out.ptr<float>();

    for (size_t k = 0; k < found.total() / 7; k++) {
        if (all[7 * k + 1] >= 0)
            kept.push_back(all + 7 * k);
    }
    std::stable_sort(kept.begin(), kept.end(), [](const float *a, const float *b) {
        return a[0] < b[0] || (a[0] <= b[0] && a[2] > b[2]);
    });
    std::memset(to, 0, rows * 7 * sizeof(float));
    for (size_t k = 0; k < std::min(rows, kept.size()); k++)
        std::memcpy(to + 7 * k, kept[k], 7 * sizeof(float));
    return out;
}

class Impl
{
  public:
    Impl() : target_(DNN_TARGET_CPU), fuse_(true), stamp_(0)
    {
    }
    Impl(const Impl &) = delete;
    Impl &operator=(const Impl &) = delete;

    /** Reads a text, which errors call `name`, and weights, which may be NULL. */
    void read(const std::string &text, const std::string &name,
              const std::shared_ptr<Weights> &weights)
    {
        if (text.find('\0') != std::string::npos)
            fail(FAILED, name + ": a binary file, not a prototxt; the prototxt comes first",
                 "readNetFromCaffe");
        if (is_empty(text)) { /* an empty text is an error unless it is a prototxt */
            Runner(device_of(target_), with_a_layer(text), name, {}, fuse_);
            return;
        }
        text_ = text;
        name_ = name;
        weights_ = weights;
        for (const ShapePlace &place : shape_places(text))
            shapeless_.push_back(place.input);
        labels_ = shapeless_;
        if (shapeless_.empty())
            open(text);
    }

    bool empty() const
    {
        return text_.empty();
    }
    /** Whether the shapes of all inputs are known, so that the net is open. */
    bool is_open() const
    {
        return main_ != nullptr;
    }
    /** The open net's layers. */
    const Graph &graph(const char *function)
    {
        opened(function);
        return graph_;
    }
    int number(const std::string &layer, const char *function, int missing = NOT_FOUND)
    {
        const int found = graph(function).number(layer);

        if (found < 0)
            fail(missing, "Requested layer \"" + layer + "\" not found", function);
        return found;
    }
    const Node &node(int number, const char *function)
    {
        if (number < 0 || static_cast<size_t>(number) >= graph(function).nodes.size())
            fail(NOT_FOUND, "Layer with requested id=" + std::to_string(number) + " not found",
                 function);
        return graph_.nodes[static_cast<size_t>(number)];
    }

    // ---- inputs ----

    void set_input(const Mat &values, const std::string &label)
    {
        given_[input_name(label, "setInput")] = Given{ ++stamp_, values };
    }
    void set_input_shape(const std::string &label, const MatShape &shape)
    {
        shapes_[input_name(label, "setInputShape")] = shape;
    }
    void set_labels(const std::vector<std::string> &labels)
    {
        std::copy_n(labels.begin(), std::min(labels.size(), labels_.size()), labels_.begin());
    }

    // ---- passes ----

    /** Runs the net and returns all tops of each of the layers. */
    std::vector<std::vector<Mat>> forward(const std::vector<int> &numbers)
    {
        check_given();
        std::vector<std::vector<Mat>> out =
            is_in_place(numbers) ? run_in_place(numbers) : run(numbers);
        for (size_t k = 0; k < numbers.size(); k++) {
            const size_t rows = detections(numbers[k]);

            if (rows)
                out[k][0] = padded(
                    out[k][0], rows * static_cast<size_t>(given_.begin()->second.values.size[0]));
        }
        return out;
    }

    /** The time of each layer in milliseconds, in a pass that is run for this purpose. */
    std::vector<double> profile()
    {
        std::vector<double> out;

        check_given();
        main_->feed(given_);
        checked(ferry_net_set_measuring(main_->net(), FERRY_NET_MEASURE_HOST), "getPerfProfile");
        const int result = ferry_net_forward(main_->net(), nullptr);
        for (size_t k = 1; k < graph_.nodes.size(); k++) {
            ferry_net_layer_info info = {};

            info.struct_size = sizeof(info);
            ferry_net_get_layer_info(main_->net(), graph_.nodes[k].place, &info);
            out.push_back(info.ms);
        }
        ferry_net_set_measuring(main_->net(), FERRY_NET_MEASURE_OFF);
        checked(result, "getPerfProfile");
        return out;
    }
    bool is_fed() const
    {
        return !given_.empty();
    }

    // ---- parameters ----

    int n_params(int number, const char *function)
    {
        const Node &of = node(number, function);

        return of.place < 0 ? 0 : ferry_net_param_count(main_->net(), of.place);
    }
    ferry_blob *param(int number, int index, const char *function)
    {
        if (index < 0 || index >= n_params(number, function))
            fail(ASSERTION,
                 "numParam < (int)layerBlobs.size(): layer \"" + node(number, function).name + "\"",
                 function);
        return checked(ferry_net_param_at(main_->net(), node(number, function).place, index),
                       function);
    }
    void set_param(int number, int index, const Mat &values, const char *function)
    {
        ferry_blob *to = param(number, index, function);
        const std::string &written = node(number, function).written;

        if (values.total() != static_cast<size_t>(ferry_blob_element_count(to)))
            fail(ASSERTION,
                 "a parameter of layer \"" + written + "\" has " +
                     std::to_string(ferry_blob_element_count(to)) + " elements, the matrix has " +
                     std::to_string(values.total()),
                 function);
        std::memcpy(checked(ferry_blob_overwrite_host_data(to), function), values.data,
                    values.total() * sizeof(float));
        if (index == 0)
            without_.erase(std::remove(without_.begin(), without_.end(), written), without_.end());
    }
    /** Whether a layer that needs weights got none. */
    bool is_without(int number, const char *function)
    {
        const std::string &written = node(number, function).written;

        return std::find(without_.begin(), without_.end(), written) != without_.end();
    }

    // ---- shapes ----

    /** Each layer with its shapes, for inputs of those shapes; without shapes, for the current
     * ones. */
    std::vector<Line> lines(std::vector<MatShape> shapes, const char *function)
    {
        std::vector<Line> out;

        note_shapes(shapes);
        opened(function);
        if (shapes.empty())
            shapes = input_shapes();
        require(shapes.size() == graph_.inputs.size(), "netInputShapes.size() == inputs", function);
        Runner &whole = runner("*", { "*" });
        whole.reshape_all(shapes, function);
        for (size_t k = 0; k < graph_.nodes.size(); k++)
            out.push_back(line(whole, static_cast<int>(k), shapes));
        return out;
    }
    /** The shapes of the inputs: those that were set, else those in the text. */
    std::vector<MatShape> input_shapes() const
    {
        std::vector<MatShape> out;

        for (int i = 0; i < ferry_net_input_count(main_->net()); i++) {
            const ferry_blob *blob = ferry_net_input_at(main_->net(), i);
            const AllGiven::const_iterator found = given_.find(ferry_blob_name(blob));

            out.push_back(found == given_.end() ? shape_of(blob) : shape_of(found->second.values));
        }
        return out;
    }
    /** The LayerParameter of a layer other than layer 0. */
    const ferry_proto *message(int number) const
    {
        return ferry_layer_message(
            ferry_net_layer_at(main_->net(), graph_.nodes[static_cast<size_t>(number)].place));
    }

    // ---- device and fusion ----

    int target() const
    {
        return target_;
    }
    void set_target(int target)
    {
        if (target != target_)
            reopen(target, fuse_);
    }
    void set_fuse(bool fuse)
    {
        if (fuse != fuse_)
            reopen(target_, fuse);
    }

  private:
    void open(const std::string &text)
    {
        std::unique_ptr<Runner> fresh(new Runner(device_of(target_), text, name_, {}, fuse_));
        const Graph graph(fresh->net());
        const std::vector<std::string> without = load(fresh->net());

        main_ = std::move(fresh);
        graph_ = graph;
        without_ = without;
        text_ = text;
        weights_.reset();
        if (labels_.empty())
            labels_ = graph_.inputs;
    }
    /** Loads the weights; returns the names of the layers that need some and got none. */
    std::vector<std::string> load(ferry_net *net) const
    {
        const ferry_net_load_report *report = nullptr;
        std::vector<std::string> without;

        if (weights_) {
            checked(ferry_net_load(net, weights_->path().c_str(), &report), "readNetFromCaffe");
            for (size_t k = 0; k < report->line_count; k++) {
                if (report->lines[k].state == FERRY_LOAD_NONE && report->lines[k].blobs)
                    without.push_back(report->lines[k].layer);
            }
            return without;
        }
        for (int i = 0; i < ferry_net_layer_count(net); i++) {
            if (ferry_net_param_count(net, i))
                without.push_back(ferry_layer_name(ferry_net_layer_at(net, i)));
        }
        return without;
    }
    /** Opens a net that was waiting for the shapes of its inputs. */
    void opened(const char *function)
    {
        std::map<std::string, MatShape> shapes = shapes_;

        if (main_)
            return;
        require(!text_.empty(), "!empty()", function);
        for (const AllGiven::value_type &one : given_)
            shapes[one.first] = shape_of(one.second.values);
        for (const std::string &name : shapeless_) {
            if (!shapes.count(name))
                fail(FAILED,
                     "the text gives input \"" + name +
                         "\" no shape: setInput or setInputShape comes first",
                     function);
        }
        open(with_shapes(text_, shapes));
    }
    /** Opens the net with other options; parameters stay. After a failure nothing has changed. */
    void reopen(int target, bool fuse)
    {
        if (main_) {
            ferry_device *device = device_of(target);
            std::unique_ptr<Runner> fresh(new Runner(device, text_, name_, {}, fuse));

            checked(ferry_net_share(fresh->net(), main_->net()), "setPreferableTarget");
            if (ferry_net_device(main_->net()) != device)
                checked(ferry_net_move_to(fresh->net(), device), "setPreferableTarget");
            main_ = std::move(fresh);
            runners_.clear();
        }
        target_ = target;
        fuse_ = fuse;
    }
    /** The net that is open with those blobs kept; it has the parameters of the first net. */
    Runner &runner(const std::string &key, const std::vector<std::string> &keep)
    {
        for (std::list<Named>::iterator one = runners_.begin(); one != runners_.end(); ++one) {
            if (one->first == key) {
                runners_.splice(runners_.begin(), runners_, one);
                return *runners_.front().second;
            }
        }
        std::unique_ptr<Runner> fresh(new Runner(device_of(target_), text_, name_, keep, fuse_));
        checked(ferry_net_share(fresh->net(), main_->net()), "forward");
        runners_.push_front(Named(key, std::move(fresh)));
        if (runners_.size() > 4)
            runners_.pop_back();
        return *runners_.front().second;
    }

    std::string input_name(const std::string &label, const char *function) const
    {
        const std::vector<std::string> &names = main_ ? graph_.inputs : shapeless_;
        const size_t k =
            label.empty() ? 0
                          : static_cast<size_t>(std::find(labels_.begin(), labels_.end(), label) -
                                                labels_.begin());

        require(!text_.empty(), "!empty()", function);
        if (k >= names.size())
            fail(NOT_FOUND, "Requested blob \"" + label + "\" not found", function);
        return names[k];
    }
    void check_given() const
    {
        require(!given_.empty(), "!layers[0].outputBlobs.empty(): no input is set", "forward");
        for (const std::string &name : graph_.inputs) {
            if (!given_.count(name))
                fail(ASSERTION, "inp.total(): input \"" + name + "\" is not set", "forward");
        }
        if (!without_.empty())
            fail(ASSERTION, "!blobs.empty(): layer \"" + without_[0] + "\" has no weights",
                 "forward");
    }
    void note_shapes(const std::vector<MatShape> &shapes)
    {
        for (size_t k = 0; !main_ && k < std::min(shapes.size(), shapeless_.size()); k++)
            shapes_[shapeless_[k]] = shapes[k];
    }

    const Node &at(int number) const
    {
        return graph_.nodes[static_cast<size_t>(number)];
    }
    bool is_in_place(const std::vector<int> &numbers) const
    {
        return std::any_of(numbers.begin(), numbers.end(),
                           [this](int n) { return graph_.is_overwritten(n); });
    }
    std::vector<std::vector<Mat>> run(const std::vector<int> &numbers)
    {
        const bool ends =
            std::all_of(numbers.begin(), numbers.end(), [this](int n) { return graph_.is_end(n); });
        std::vector<std::string> blobs, keep;
        std::vector<std::vector<Mat>> out;
        std::string key;

        for (int n : numbers)
            blobs.insert(blobs.end(), at(n).tops.begin(), at(n).tops.end());
        keep = blobs;
        std::sort(keep.begin(), keep.end());
        keep.erase(std::unique(keep.begin(), keep.end()), keep.end());
        for (const std::string &blob : keep)
            key += blob + '\n';
        const std::vector<Mat> all = (ends ? *main_ : runner(key, keep)).run(given_, blobs);
        std::vector<Mat>::const_iterator next = all.begin();
        for (int n : numbers) {
            out.push_back(
                std::vector<Mat>(next, next + static_cast<std::ptrdiff_t>(at(n).tops.size())));
            next += static_cast<std::ptrdiff_t>(at(n).tops.size());
        }
        return out;
    }
    /** Runs layer by layer, because a later layer overwrites a requested blob. */
    std::vector<std::vector<Mat>> run_in_place(const std::vector<int> &numbers)
    {
        Runner &whole = runner("*", { "*" });
        std::vector<int> order = numbers;
        std::map<int, std::vector<Mat>> copies;
        std::vector<std::vector<Mat>> out;
        int from = 0;

        whole.feed(given_);
        std::sort(order.begin(), order.end());
        for (int n : order) {
            if (copies.count(n))
                continue;
            whole.run_to(at(n).place, from);
            for (const std::string &top : at(n).tops)
                copies[n].push_back(whole.copy(top));
        }
        for (int n : numbers)
            out.push_back(copies[n]);
        return out;
    }
    /** For DetectionOutput, the number of detections of an image that are kept; else 0. */
    size_t detections(int number) const
    {
        if (at(number).type != "DetectionOutput")
            return 0;
        const ferry_proto *of = ferry_proto_message(message(number), "detection_output_param", 0);
        return static_cast<size_t>(std::max<int64_t>(0, ferry_proto_integer(of, "keep_top_k", 0)));
    }
    Line line(const Runner &whole, int number, const std::vector<MatShape> &given) const
    {
        Line out = { number, {}, {} };

        if (at(number).place < 0)
            return Line{ number, given, given };
        const ferry_layer *layer = ferry_net_layer_at(whole.net(), at(number).place);
        for (int i = 0; i < ferry_layer_bottom_count(layer); i++)
            out.ins.push_back(shape_of(ferry_layer_bottom_at(layer, i)));
        for (int i = 0; i < ferry_layer_top_count(layer); i++)
            out.outs.push_back(shape_of(ferry_layer_top_at(layer, i)));
        if (at(number).type == "Silence")
            out.outs = out.ins;
        if (detections(number))
            out.outs = { MatShape{ 1, 1, static_cast<int>(detections(number)) * given[0][0], 7 } };
        return out;
    }

    typedef std::pair<std::string, std::unique_ptr<Runner>> Named;

    int target_;
    bool fuse_;
    uint64_t stamp_;
    std::string text_, name_;          /* the text is "" for an empty net */
    std::shared_ptr<Weights> weights_; /* set until the net is open */
    std::vector<std::string> shapeless_, labels_, without_;
    std::map<std::string, MatShape> shapes_;
    AllGiven given_;
    std::unique_ptr<Runner>
        main_;                 /* the net for the outputs; NULL until the shapes of the inputs are
                                * known */
    std::list<Named> runners_; /* nets for other blobs: the latest first, at most 4 */
    Graph graph_;
};

} // namespace detail
FERRY_DNN_END

#endif
