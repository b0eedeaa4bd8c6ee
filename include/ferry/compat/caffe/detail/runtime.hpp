/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/detail/runtime.hpp
 * Errors, element types and the runtime of the process. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_DETAIL_RUNTIME_HPP
#define FERRY_COMPAT_CAFFE_DETAIL_RUNTIME_HPP

#include <ferry/ferry.h>

#include <climits>
#include <stdexcept>
#include <string>

namespace caffe
{

/** A failed call of ferry: its code, FERRY_E…; what() is ferry's error message. */
class Error : public std::runtime_error
{
  public:
    Error(int code, const std::string &line) : std::runtime_error(line), code_(code)
    {
    }
    int code() const
    {
        return code_;
    }

  private:
    int code_;
};

/** The implementation of these headers. Not for programs. */
namespace detail
{

/** Throws the error of a ferry function, or returns its result. */
template <typename Result> Result checked(Result result)
{
    if (result < 0)
        throw Error(static_cast<int>(result), ferry_last_error());
    return result;
}

/** As the function above, for a function that returns NULL on failure. */
template <typename T> T *checked(T *pointer)
{
    if (!pointer)
        throw Error(ferry_last_error_code(), ferry_last_error());
    return pointer;
}

[[noreturn]] inline void fail(int code, const std::string &line)
{
    ferry_error_set(code, "%s", line.c_str());
    throw Error(code, line);
}

/** Converts to int, the type of sizes in Caffe. */
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
template <> struct dtype_of<int> {
    static const ferry_dtype value = FERRY_I32;
};
template <> struct dtype_of<unsigned int> {
    static const ferry_dtype value = FERRY_U32;
};

/** The runtime of the process: opened by the first call, closed at exit. */
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
} // namespace caffe

#endif
