/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/benchmark.hpp Timers. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_UTIL_BENCHMARK_HPP
#define FERRY_COMPAT_CAFFE_UTIL_BENCHMARK_HPP

#include <ferry/compat/caffe/common.hpp>

#include <chrono>

namespace caffe
{

/** A stopwatch of wall time. In mode GPU it waits for the device's work at start and stop. */
class Timer
{
  public:
    Timer() : running_(false), has_run_(false)
    {
    }
    virtual ~Timer()
    {
    }
    virtual void Start()
    {
        if (running_)
            return;
        wait();
        begin_ = Clock::now();
        running_ = has_run_ = true;
    }
    virtual void Stop()
    {
        if (!running_)
            return;
        wait();
        end_ = Clock::now();
        running_ = false;
    }
    /** The time since Start; stops a running timer. 0 before the first Start. */
    virtual float MicroSeconds()
    {
        typedef std::chrono::duration<float, std::micro> Micro;

        if (!has_run_) {
            LOG(WARNING) << "Timer has never been run before reading time.";
            return 0;
        }
        Stop();
        return std::chrono::duration_cast<Micro>(end_ - begin_).count();
    }
    virtual float MilliSeconds()
    {
        return MicroSeconds() / 1000;
    }
    virtual float Seconds()
    {
        return MilliSeconds() / 1000;
    }
    bool initted()
    {
        return true;
    }
    bool running()
    {
        return running_;
    }
    bool has_run_at_least_once()
    {
        return has_run_;
    }

  protected:
    typedef std::chrono::steady_clock Clock;

    virtual void wait()
    {
        if (Caffe::mode() == Caffe::GPU)
            detail::checked(ferry_device_synchronize(Caffe::device()));
    }

    bool running_, has_run_;
    Clock::time_point begin_, end_;
};

/** A timer that does not wait for a device. */
class CPUTimer : public Timer
{
  protected:
    virtual void wait()
    {
    }
};

} // namespace caffe

#endif
