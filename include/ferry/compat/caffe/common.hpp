/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/common.hpp
 * Checks, Caffe's macros, and the Caffe class: the mode, the device and the random numbers of a
 * thread. See ferry/caffe.hpp.
 *
 * With FERRY_CAFFE_BOOST defined, caffe::shared_ptr is boost::shared_ptr and caffe::rng_t is
 * boost::mt19937, as in Caffe; otherwise both are from std, and no header of Boost is included.
 */
#ifndef FERRY_COMPAT_CAFFE_COMMON_HPP
#define FERRY_COMPAT_CAFFE_COMMON_HPP

#include <ferry/compat/caffe/detail/runtime.hpp>
#include <ferry/compat/caffe/logging.hpp>

#include <climits>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#ifdef FERRY_CAFFE_BOOST
#include <boost/make_shared.hpp>
#include <boost/pointer_cast.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/shared_ptr.hpp>
#endif

/* A macro's value as a string. */
#define STRINGIFY(m) #m
#define AS_STRING(m) STRINGIFY(m)

/** In a class declaration: disables copying. The following members are private. */
#define DISABLE_COPY_AND_ASSIGN(classname) \
  private:                                 \
    classname(const classname &);          \
    classname &operator=(const classname &)

/** Instantiates a class template for float and double. */
#define INSTANTIATE_CLASS(classname)     \
    char gInstantiationGuard##classname; \
    template class classname<float>;     \
    template class classname<double>

/* Instantiates kernels in files that nvcc compiles. */
#define INSTANTIATE_LAYER_GPU_FORWARD(classname)                                      \
    template void classname<float>::Forward_gpu(const std::vector<Blob<float> *> &,   \
                                                const std::vector<Blob<float> *> &);  \
    template void classname<double>::Forward_gpu(const std::vector<Blob<double> *> &, \
                                                 const std::vector<Blob<double> *> &)
#define INSTANTIATE_LAYER_GPU_BACKWARD(classname)                                      \
    template void classname<float>::Backward_gpu(const std::vector<Blob<float> *> &,   \
                                                 const std::vector<bool> &,            \
                                                 const std::vector<Blob<float> *> &);  \
    template void classname<double>::Backward_gpu(const std::vector<Blob<double> *> &, \
                                                  const std::vector<bool> &,           \
                                                  const std::vector<Blob<double> *> &)
#define INSTANTIATE_LAYER_GPU_FUNCS(classname) \
    INSTANTIATE_LAYER_GPU_FORWARD(classname);  \
    INSTANTIATE_LAYER_GPU_BACKWARD(classname)

#define NOT_IMPLEMENTED LOG(FATAL) << "Not Implemented Yet"
#ifndef NO_GPU
#define NO_GPU LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode."
#endif

namespace cv
{
class Mat;
}

namespace caffe
{

#ifdef FERRY_CAFFE_BOOST
using boost::shared_ptr;
typedef boost::mt19937 rng_t;
#else
using std::shared_ptr;
typedef std::mt19937 rng_t;
#endif
using std::fstream;
using std::ios;
using std::isinf;
using std::isnan;
using std::iterator;
using std::make_pair;
using std::map;
using std::ostringstream;
using std::pair;
using std::set;
using std::string;
using std::stringstream;
using std::vector;

/**
 * The state of a thread: its mode, its device and its random numbers. In mode CPU, the default, the
 * device is "cpu"; in mode GPU it is the selected one, or after SetDevice(n) device n of the same
 * plugin.
 */
class Caffe
{
  public:
    enum Brew { CPU, GPU };

    /** A random number generator: the Mersenne Twister (rng_t). Copies share its state. */
    class RNG
    {
      public:
        /** Seeded from the system. */
        RNG() : generator_(new rng_t(std::random_device()()))
        {
        }
        explicit RNG(unsigned int seed) : generator_(new rng_t(seed))
        {
        }
        /** An rng_t. */
        void *generator()
        {
            return generator_.get();
        }

      private:
        shared_ptr<rng_t> generator_;
    };

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
    /**
     * Selects the device of mode GPU and opens it; an Error (FERRY_ENODEV) if there is no device
     * with that number.
     */
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
    /** The first existing device from `start_id` on; -1: none. */
    static int FindDevice(int start_id = 0)
    {
        return CheckDevice(start_id) ? start_id : -1;
    }
    /** Logs a line (FERRY_LOG=info) about the device of mode GPU. */
    static void DeviceQuery()
    {
        ferry_log_write(FERRY_LOG_INFO, "Device: %s", ferry_device_name(gpu()));
    }
    /**
     * Seeds this thread's random numbers. Fillers, dropout and shuffling of nets, layers and
     * solvers that the thread constructs later take their seeds from them; existing objects take
     * new seeds before their next pass.
     */
    static void set_random_seed(unsigned int seed)
    {
        Get().seed_ = seed;
        Get().seeded_++;
        Get().random_.reset(new RNG(seed));
    }
    /** This thread's random numbers; seeded from the system before the first set_random_seed. */
    static RNG &rng_stream()
    {
        if (!Get().random_)
            Get().random_.reset(new RNG());
        return *Get().random_;
    }
    /** Not in Caffe: the latest seed of this thread, 0 before the first. */
    static unsigned int random_seed()
    {
        return Get().seed_;
    }
    /** Not in Caffe: the next random number except 0, the seed of a ferry_net. */
    static unsigned int next_seed()
    {
        const unsigned int drawn =
            static_cast<unsigned int>((*static_cast<rng_t *>(rng_stream().generator()))());

        return drawn ? drawn : 1;
    }
    /** Not in Caffe: how often set_random_seed was called on this thread. */
    static unsigned int seed_count()
    {
        return Get().seeded_;
    }

    /* ---- the number and the rank of solvers that train together ---- */

    static int solver_count()
    {
        return Get().solver_count_;
    }
    static void set_solver_count(int count)
    {
        Get().solver_count_ = count;
    }
    static int solver_rank()
    {
        return Get().solver_rank_;
    }
    static void set_solver_rank(int rank)
    {
        Get().solver_rank_ = rank;
    }
    static bool multiprocess()
    {
        return Get().multiprocess_;
    }
    static void set_multiprocess(bool multiprocess)
    {
        Get().multiprocess_ = multiprocess;
    }
    static bool root_solver()
    {
        return Get().solver_rank_ == 0;
    }

    /**
     * Not in Caffe. With true, the default, every blob of a net is available, as in Caffe. With
     * false, nets for TEST that this thread constructs later plan their memory and fuse their
     * layers (ferry_net_options), which makes them faster and smaller; only their inputs and
     * outputs are available, and Backward is not.
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
     * Not in Caffe. The folder that layers (HDF5Output) of nets constructed later by this thread
     * may write to; "", the default: none.
     */
    static void set_allow_write(const string &folder)
    {
        Get().writes_to_ = folder;
    }
    static const string &allow_write()
    {
        return Get().writes_to_;
    }
    /** Not in Caffe: the device of the mode, borrowed. */
    static ferry_device *device()
    {
        ferry_device *cpu = nullptr;

        if (mode() == GPU)
            return gpu();
        detail::checked(ferry_runtime_get_device(detail::runtime(), cpu_name().c_str(), &cpu));
        return cpu;
    }
    /**
     * Not in Caffe: sets the device of mode CPU for the whole process by its name ("sim",
     * "cuda:1"), for programs that never leave that mode. Call it before any other thread uses a
     * device.
     */
    static void set_cpu_device(const string &name)
    {
        ferry_device *device = nullptr;

        detail::checked(ferry_runtime_get_device(detail::runtime(), name.c_str(), &device));
        cpu_name() = name;
    }

    Caffe(const Caffe &) = delete;
    Caffe &operator=(const Caffe &) = delete;

  private:
    Caffe()
        : mode_(CPU), seed_(0), seeded_(0), keep_(true), solver_count_(1), solver_rank_(0),
          multiprocess_(false), selected_(nullptr)
    {
    }

    static string &cpu_name()
    {
        static string name("cpu");

        return name;
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
    unsigned int seed_, seeded_;
    bool keep_;
    int solver_count_, solver_rank_;
    bool multiprocess_;
    string writes_to_;       /* the folder that layers may write to; "": none */
    shared_ptr<RNG> random_; /* NULL: not seeded yet */
    ferry_device *selected_; /* of mode GPU; NULL: not requested yet */
};

/**
 * The first call of a program of Caffe. With FERRY_CAFFE_GLOG it initializes glog; command line
 * flags are left to the program.
 */
inline void GlobalInit(int *, char ***argv)
{
    google::InitGoogleLogging(**argv);
}

} // namespace caffe

#include <ferry/compat/caffe/util/device_alternate.hpp>

#endif
