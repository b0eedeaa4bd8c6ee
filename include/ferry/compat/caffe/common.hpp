/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/common.hpp Errors, checks, and which device is meant. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_COMMON_HPP
#define FERRY_COMPAT_CAFFE_COMMON_HPP

#include <ferry/ferry.h>

#include <climits>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ferry/compat/caffe/logging.hpp>

namespace caffe
{

using std::isinf;
using std::isnan;
using std::make_pair;
using std::map;
using std::ostringstream;
using std::pair;
using std::set;
using std::shared_ptr;
using std::string;
using std::stringstream;
using std::vector;

/** What a call of ferry failed with: its code, FERRY_E…, and what() is ferry's line. */
class Error : public std::runtime_error
{
  public:
    Error(int code, const string &line) : std::runtime_error(line), code_(code)
    {
    }
    int code() const
    {
        return code_;
    }

  private:
    int code_;
};

/** What these headers are made with. Not for programs. */
namespace detail
{

/** Throws what a ferry function failed with; else its result. */
template <typename Result> Result checked(Result result)
{
    if (result < 0)
        throw Error(static_cast<int>(result), ferry_last_error());
    return result;
}

/** The same for one that returns NULL. */
template <typename T> T *checked(T *pointer)
{
    if (!pointer)
        throw Error(ferry_last_error_code(), ferry_last_error());
    return pointer;
}

[[noreturn]] inline void fail(int code, const string &line)
{
    ferry_error_set(code, "%s", line.c_str());
    throw Error(code, line);
}

/** Sizes of Caffe's are int. */
inline int narrowed(int64_t n)
{
    if (checked(n) > INT_MAX)
        fail(FERRY_EOVERFLOW, std::to_string(n) + " is beyond an int");
    return static_cast<int>(n);
}

template <typename Dtype> struct dtype_of;
template <> struct dtype_of<float> {
    static const ferry_dtype value = FERRY_F32;
};
template <> struct dtype_of<double> {
    static const ferry_dtype value = FERRY_F64;
};

/** The process's runtime: opened by the first who asks, closed when the program ends. */
inline ferry_runtime *runtime()
{
    struct Holder {
        ferry_runtime *rt;
        Holder() : rt(nullptr)
        {
            checked(ferry_runtime_open(nullptr, &rt));
        }
        ~Holder()
        {
            ferry_runtime_close(rt);
        }
        Holder(const Holder &) = delete;
        Holder &operator=(const Holder &) = delete;
    };
    static Holder holder;

    return holder.rt;
}

} // namespace detail

/**
 * This thread's mode. CPU, which it begins with, is the device "cpu"; GPU is the selected one, or after
 * SetDevice(n) the n-th of the same plugin.
 */
class Caffe
{
  public:
    enum Brew { CPU, GPU };

    static Caffe &Get()
    {
        static thread_local Caffe caffe;

        return caffe;
    }
    static Brew mode()
    {
        return Get().mode_;
    }
    static void set_mode(Brew mode)
    {
        Get().mode_ = mode;
    }
    /** For the mode GPU. The device is opened here; an Error (FERRY_ENODEV) if there is none of that number. */
    static void SetDevice(int device_id)
    {
        Get().selected_ = numbered(device_id);
    }
    static bool CheckDevice(int device_id)
    {
        ferry_device *device = nullptr;
        string name;

        if (ferry_runtime_get_device(detail::runtime(), nullptr, &device) < 0)
            return false;
        name = plugin_of(device) + ":" + std::to_string(device_id);
        return ferry_runtime_get_device(detail::runtime(), name.c_str(), &device) == 0;
    }
    /** The first from `start_id` on that there is; -1: none. */
    static int FindDevice(int start_id = 0)
    {
        return CheckDevice(start_id) ? start_id : -1;
    }
    /** A line of the log (FERRY_LOG=info) about the device of the mode GPU. */
    static void DeviceQuery()
    {
        ferry_log_write(FERRY_LOG_INFO, "Device: %s", ferry_device_name(gpu()));
    }
    /** Of fillers and dropout in the nets that this thread constructs from now on. */
    static void set_random_seed(unsigned int seed)
    {
        Get().seed_ = seed;
    }
    static unsigned int random_seed()
    {
        return Get().seed_;
    }

    /**
     * Not Caffe's. true, as it begins: every blob of a net can be had, as in Caffe. false: nets that this thread
     * constructs from now on for TEST plan their memory and fuse their layers (ferry_net_options): faster and
     * smaller; of their blobs inputs and outputs can be had, and Backward cannot.
     */
    static void set_keep_blobs(bool keep)
    {
        Get().keep_ = keep;
    }
    static bool keep_blobs()
    {
        return Get().keep_;
    }
    /**
     * Not Caffe's. The folder in which layers of nets that this thread constructs from now on may write
     * (HDF5Output); "", as it begins: nowhere.
     */
    static void set_allow_write(const string &folder)
    {
        Get().writes_to_ = folder;
    }
    static const string &allow_write()
    {
        return Get().writes_to_;
    }
    /** Not Caffe's: the device that the mode means, borrowed. */
    static ferry_device *device()
    {
        ferry_device *cpu = nullptr;

        if (mode() == GPU)
            return gpu();
        detail::checked(ferry_runtime_get_device(detail::runtime(), "cpu", &cpu));
        return cpu;
    }

    Caffe(const Caffe &) = delete;
    Caffe &operator=(const Caffe &) = delete;

  private:
    Caffe() : mode_(CPU), seed_(0), keep_(true), selected_(nullptr)
    {
    }

    static string plugin_of(const ferry_device *device)
    {
        return ferry_device_get_properties(device)->plugin;
    }
    static ferry_device *gpu()
    {
        Caffe &caffe = Get();

        if (!caffe.selected_)
            detail::checked(ferry_runtime_get_device(detail::runtime(), nullptr, &caffe.selected_));
        return caffe.selected_;
    }
    static ferry_device *numbered(int device_id)
    {
        ferry_device *device = nullptr;
        string name;

        detail::checked(ferry_runtime_get_device(detail::runtime(), nullptr, &device));
        name = plugin_of(device) + ":" + std::to_string(device_id);
        detail::checked(ferry_runtime_get_device(detail::runtime(), name.c_str(), &device));
        return device;
    }

    Brew mode_;
    unsigned int seed_;
    bool keep_;
    string writes_to_;
    ferry_device *selected_; /* of the mode GPU; NULL: not asked for yet */
};

} // namespace caffe

#endif
