/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/runner.hpp A net of ferry's that is open for some of its blobs. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_RUNNER_HPP
#define FERRY_DNN_RUNNER_HPP

#include <ferry/dnn/graph.hpp>

#include <cstdlib>
#include <cstring>
#include <map>

FERRY_DNN_BEGIN

/** OpenCV's numbers. Backends are accepted and have no effect; targets select the device. */
enum Backend {
    DNN_BACKEND_DEFAULT = 0,
    DNN_BACKEND_HALIDE,
    DNN_BACKEND_INFERENCE_ENGINE,
    DNN_BACKEND_OPENCV,
    DNN_BACKEND_VKCOM,
    DNN_BACKEND_CUDA,
    DNN_BACKEND_WEBNN,
    DNN_BACKEND_TIMVX,
    DNN_BACKEND_CANN
};
enum Target {
    DNN_TARGET_CPU = 0,
    DNN_TARGET_OPENCL,
    DNN_TARGET_OPENCL_FP16,
    DNN_TARGET_MYRIAD,
    DNN_TARGET_VULKAN,
    DNN_TARGET_FPGA,
    DNN_TARGET_CUDA,
    DNN_TARGET_CUDA_FP16,
    DNN_TARGET_HDDL,
    DNN_TARGET_NPU,
    DNN_TARGET_CPU_FP16
};

namespace detail
{

/**
 * The process's runtime. Open nets retain it, so that a net may outlive the end of main.
 */
inline const std::shared_ptr<ferry_runtime> &runtime()
{
    struct Opened {
        static ferry_runtime *open()
        {
            ferry_runtime *rt = nullptr;

            checked(ferry_runtime_open(nullptr, &rt), "readNetFromCaffe");
            return rt;
        }
    };
    static const std::shared_ptr<ferry_runtime> held(Opened::open(), ferry_runtime_close);

    return held;
}

inline const char *plugin_of(int target)
{
    switch (target) {
    case DNN_TARGET_CPU:
    case DNN_TARGET_CPU_FP16:
        return "cpu";
    case DNN_TARGET_OPENCL:
    case DNN_TARGET_OPENCL_FP16:
        return "opencl";
    case DNN_TARGET_CUDA:
    case DNN_TARGET_CUDA_FP16:
        return "cuda";
    default:
        return nullptr;
    }
}

/**
 * The device of FERRY_BACKEND if that is set, else that of the target; the CPU, with a line in the
 * log, if there is no such device.
 */
inline ferry_device *device_of(int target)
{
    const char *chosen = std::getenv("FERRY_BACKEND");
    const char *plugin = plugin_of(target);
    ferry_device *device = nullptr;

    if (chosen && *chosen) {
        checked(ferry_runtime_get_device(runtime().get(), nullptr, &device), "setPreferableTarget");
        return device;
    }
    if (plugin && !ferry_runtime_get_device(runtime().get(), plugin, &device))
        return device;
    ferry_log_write(FERRY_LOG_WARN, "target %d: %s; switching to the CPU", target,
                    plugin ? ferry_last_error() : "ferry has no such target");
    checked(ferry_runtime_get_device(runtime().get(), "cpu", &device), "setPreferableTarget");
    return device;
}

inline MatShape shape_of(const ferry_blob *blob)
{
    const int64_t *shape = ferry_blob_shape(blob);

    return MatShape(shape, shape + ferry_blob_rank(blob));
}

/** A copy of a blob's contents. */
inline Mat copy_of(const ferry_blob *blob, const MatShape &shape, const char *function)
{
    Mat copy = made(shape, CV_32F);
    const size_t bytes = count_of(shape) * sizeof(float);

    if (bytes)
        std::memcpy(copy.data, checked(ferry_blob_host_data(blob), function), bytes);
    return copy;
}

/** The values of an input, and a number that changes with each setInput. */
struct Given {
    uint64_t stamp;
    Mat values;
};
typedef std::map<std::string, Given> AllGiven;

class Runner
{
  public:
    /**
     * Opens the net of a text, which errors call `name`; `keep` names the blobs to keep, "*" for
     * all.
     */
    Runner(ferry_device *device, const std::string &text, const std::string &name,
           const std::vector<std::string> &keep, bool fuse)
        : runtime_(runtime()), net_(nullptr)
    {
        std::vector<const char *> kept;
        ferry_net_options options = {};

        for (const std::string &one : keep)
            kept.push_back(one.c_str());
        options.struct_size = sizeof(options);
        options.phase = FERRY_PHASE_TEST;
        options.text = text.data();
        options.text_size = text.size();
        options.keep = kept.data();
        options.keep_count = kept.size();
        options.only = !kept.empty() && keep[0] != "*";
        options.no_fuse = !fuse;
        checked(ferry_net_open(device, name.c_str(), &options, &net_), "readNetFromCaffe");
    }
    ~Runner()
    {
        ferry_net_close(net_);
    }
    Runner(const Runner &) = delete;
    Runner &operator=(const Runner &) = delete;

    ferry_net *net() const
    {
        return net_;
    }

    /** Copies the given values to the inputs. */
    void feed(const AllGiven &given)
    {
        for (int i = 0; i < ferry_net_input_count(net_); i++) {
            ferry_blob *blob = ferry_net_input_at(net_, i);
            const std::string name = ferry_blob_name(blob);
            const Given &one = given.at(name);

            if (stamps_[name] == one.stamp)
                continue;
            reshape(blob, detail::shape_of(one.values));
            std::memcpy(checked(ferry_blob_overwrite_host_data(blob), "forward"), one.values.data,
                        one.values.total() * sizeof(float));
            stamps_[name] = one.stamp;
        }
    }

    /** Reshapes all blobs for these shapes of the inputs, in order. */
    void reshape_all(const std::vector<MatShape> &shapes, const char *function)
    {
        stamps_.clear();
        for (int i = 0; i < ferry_net_input_count(net_); i++)
            reshape(ferry_net_input_at(net_, i), shapes[static_cast<size_t>(i)]);
        checked(ferry_net_reshape(net_), function);
    }

    /** Runs a pass and returns the blobs of those names. */
    std::vector<Mat> run(const AllGiven &given, const std::vector<std::string> &names)
    {
        std::vector<Mat> out;

        feed(given);
        checked(ferry_net_forward(net_, nullptr), "forward");
        for (const std::string &name : names)
            out.push_back(copy(name));
        return out;
    }

    /** Runs the layers up to `place`. `from` is the first layer to run, and is advanced. */
    void run_to(int place, int &from)
    {
        if (place < from)
            return;
        checked(ferry_net_forward_range(net_, name_at(from), name_at(place), nullptr), "forward");
        from = place + 1;
    }

    Mat copy(const std::string &name) const
    {
        const ferry_blob *blob = checked(ferry_net_blob_find(net_, name.c_str()), "forward");

        return copy_of(blob, detail::shape_of(blob), "forward");
    }

  private:
    const char *name_at(int place) const
    {
        return ferry_layer_name(ferry_net_layer_at(net_, place));
    }
    static void reshape(ferry_blob *blob, const MatShape &shape)
    {
        const std::vector<int64_t> dims(shape.begin(), shape.end());

        checked(ferry_blob_reshape(blob, dims.data(), static_cast<int>(dims.size()), nullptr),
                "setInput");
    }

    std::shared_ptr<ferry_runtime> runtime_;
    ferry_net *net_;
    std::map<std::string, uint64_t> stamps_;
};

} // namespace detail
FERRY_DNN_END

#endif
