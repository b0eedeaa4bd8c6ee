/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/internal_thread.hpp A thread that an object owns. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_INTERNAL_THREAD_HPP
#define FERRY_COMPAT_CAFFE_INTERNAL_THREAD_HPP

#include <ferry/compat/caffe/util/math_functions.hpp>

#include <atomic>
#include <thread>

namespace caffe
{

/**
 * Runs InternalThreadEntry on a thread with the starting thread's mode and solver rank, and a seed
 * drawn from its random numbers. A derived class stops the thread in its destructor.
 */
class InternalThread
{
  public:
    InternalThread() : stop_(false)
    {
    }
    virtual ~InternalThread()
    {
        StopInternalThread();
    }
    InternalThread(const InternalThread &) = delete;
    InternalThread &operator=(const InternalThread &) = delete;

    void StartInternalThread()
    {
        const Caffe::Brew mode = Caffe::mode();
        const unsigned int seed = caffe_rng_rand();
        const int count = Caffe::solver_count(), rank = Caffe::solver_rank();
        const bool multiprocess = Caffe::multiprocess();

        CHECK(!is_started()) << "Threads should persist and not be restarted.";
        stop_ = false;
        thread_ = std::thread([=] {
            Caffe::set_mode(mode);
            Caffe::set_random_seed(seed);
            Caffe::set_solver_count(count);
            Caffe::set_solver_rank(rank);
            Caffe::set_multiprocess(multiprocess);
            InternalThreadEntry();
        });
    }
    /**
     * Requests the end (must_stop), interrupts waits on a BlockingQueue, and waits for the thread.
     */
    void StopInternalThread()
    {
        if (!is_started())
            return;
        stop_ = true;
        InterruptInternalThread();
        thread_.join();
    }
    bool is_started() const
    {
        return thread_.joinable();
    }

  protected:
    virtual void InternalThreadEntry()
    {
    }
    /** Wakes the thread if it waits; called after the request to stop. */
    virtual void InterruptInternalThread()
    {
    }
    bool must_stop()
    {
        return stop_;
    }

  private:
    std::atomic<bool> stop_;
    std::thread thread_;
};

} // namespace caffe

#endif
