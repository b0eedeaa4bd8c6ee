/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/blocking_queue.hpp A queue between threads. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_UTIL_BLOCKING_QUEUE_HPP
#define FERRY_COMPAT_CAFFE_UTIL_BLOCKING_QUEUE_HPP

#include <ferry/compat/caffe/common.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace caffe
{

/** First in, first out; usable from any thread. */
template <typename T> class BlockingQueue
{
  public:
    /** Thrown by pop and peek while the queue is interrupted. */
    struct Interrupted {
    };

    BlockingQueue() : interrupted_(false)
    {
    }
    BlockingQueue(const BlockingQueue &) = delete;
    BlockingQueue &operator=(const BlockingQueue &) = delete;

    void push(const T &t)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        queue_.push_back(t);
        changed_.notify_one();
    }
    bool try_pop(T *t)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (queue_.empty())
            return false;
        *t = queue_.front();
        queue_.pop_front();
        return true;
    }
    /** Waits for an element; logs `log_on_wait` if it has to wait. */
    T pop(const string &log_on_wait = "")
    {
        std::unique_lock<std::mutex> lock(mutex_);

        wait(&lock, log_on_wait);
        const T t = queue_.front();
        queue_.pop_front();
        return t;
    }
    bool try_peek(T *t)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (!queue_.empty())
            *t = queue_.front();
        return !queue_.empty();
    }
    /** The first element, which stays in the queue. */
    T peek()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        wait(&lock, "");
        return queue_.front();
    }
    size_t size() const
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        return queue_.size();
    }
    /** Not in Caffe: while it is true, waiting calls throw Interrupted. */
    void interrupt(bool interrupted)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        interrupted_ = interrupted;
        changed_.notify_all();
    }

  private:
    void wait(std::unique_lock<std::mutex> *lock, const string &log_on_wait)
    {
        if (queue_.empty() && !log_on_wait.empty()) {
            LOG_EVERY_N(INFO, 1000) << log_on_wait;
        }
        while (queue_.empty() && !interrupted_)
            changed_.wait(*lock);
        if (interrupted_)
            throw Interrupted();
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> queue_;
    bool interrupted_;
};

} // namespace caffe

#endif
