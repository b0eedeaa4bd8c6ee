/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/logging.hpp
 * CHECK, LOG and similar macros, which Caffe's programs get from glog through Caffe's headers. With
 * FERRY_CAFFE_GLOG defined, or if <glog/logging.h> was included before, they are glog's own.
 * Otherwise INFO, WARNING and ERROR write to ferry's log; FATAL, and a CHECK that fails, throw
 * std::logic_error with file and line, where glog would end the process.
 */
#ifndef FERRY_COMPAT_CAFFE_LOGGING_HPP
#define FERRY_COMPAT_CAFFE_LOGGING_HPP

#ifdef FERRY_CAFFE_GLOG
#include <glog/logging.h>
#endif

#ifndef CHECK

#include <ferry/status.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

namespace caffe
{
namespace detail
{

/** A line that is complete at the end of its statement. */
class Line
{
  public:
    Line(int level, const char *file, int line) : level_(level)
    {
        text_ << file << ":" << line << ": ";
    }
    ~Line() noexcept(false)
    {
        if (level_ >= 0)
            ferry_log_write(level_, "%s", text_.str().c_str());
        else
            throw std::logic_error(text_.str());
    }
    std::ostream &stream()
    {
        return text_;
    }

  private:
    int level_; /* of ferry's log; -1: throw */
    std::ostringstream text_;
};

/** Gives both branches of a conditional expression the same type. */
struct Voided {
    void operator&(std::ostream &) const
    {
    }
};

/** CHECK_NOTNULL: returns the pointer. */
template <typename T> T not_null(T pointer, const char *what, const char *file, int line)
{
    if (!pointer)
        Line(-1, file, line).stream() << "'" << what << "' Must be non NULL";
    return pointer;
}

} // namespace detail
} // namespace caffe

namespace google
{
inline void InitGoogleLogging(const char *)
{
}
} // namespace google

#define FERRY_CAFFE_INFO       FERRY_LOG_INFO
#define FERRY_CAFFE_WARNING    FERRY_LOG_WARN
#define FERRY_CAFFE_ERROR      FERRY_LOG_ERROR
#define FERRY_CAFFE_FATAL      (-1)
#define FERRY_CAFFE_LINE(code) ::caffe::detail::Line(code, __FILE__, __LINE__).stream()
/* The number of earlier executions of this line. */
#define FERRY_CAFFE_PASSED            \
    ([]() -> int {                    \
        static std::atomic<int> n(0); \
        return n++;                   \
    }())

#define LOG(severity) FERRY_CAFFE_LINE(FERRY_CAFFE_##severity)
#define LOG_IF(severity, condition) \
    !(condition) ? (void)0 : ::caffe::detail::Voided() & LOG(severity)
#define LOG_EVERY_N(severity, n) LOG_IF(severity, FERRY_CAFFE_PASSED % (n) == 0)
#define LOG_FIRST_N(severity, n) LOG_IF(severity, FERRY_CAFFE_PASSED < (n))
#define VLOG_IS_ON(level)        ((level) <= 0)
#define VLOG(level) \
    !VLOG_IS_ON(level) ? (void)0 : ::caffe::detail::Voided() & FERRY_CAFFE_LINE(FERRY_LOG_DEBUG)

#define CHECK(condition)  \
    (condition) ? (void)0 \
                : ::caffe::detail::Voided() & LOG(FATAL) << "Check failed: " #condition " "
#define FERRY_CAFFE_CHECK_OP(op, a, b) CHECK((a)op(b)) << "(" << (a) << " vs. " << (b) << ") "
#define CHECK_EQ(a, b)                 FERRY_CAFFE_CHECK_OP(==, a, b)
#define CHECK_NE(a, b)                 FERRY_CAFFE_CHECK_OP(!=, a, b)
#define CHECK_LE(a, b)                 FERRY_CAFFE_CHECK_OP(<=, a, b)
#define CHECK_LT(a, b)                 FERRY_CAFFE_CHECK_OP(<, a, b)
#define CHECK_GE(a, b)                 FERRY_CAFFE_CHECK_OP(>=, a, b)
#define CHECK_GT(a, b)                 FERRY_CAFFE_CHECK_OP(>, a, b)
#define CHECK_STREQ(a, b) \
    CHECK(std::strcmp(a, b) == 0) << "(" << (a) << " vs. " << (b) << ") "
#define CHECK_STRNE(a, b)              CHECK(std::strcmp(a, b) != 0) << "(" << (a) << ") "
#define CHECK_NEAR(a, b, margin)       CHECK((a) - (b) <= (margin) && (b) - (a) <= (margin))
#define CHECK_NOTNULL(pointer) \
    ::caffe::detail::not_null(pointer, #pointer, __FILE__, __LINE__)
#define PCHECK(condition)              CHECK(condition) << std::strerror(errno) << " "

/*
 * The macros of debug builds: without NDEBUG as their plain forms; with it compiled but never
 * executed.
 */
#ifdef NDEBUG
#define FERRY_CAFFE_DEBUG false
#else
#define FERRY_CAFFE_DEBUG true
#endif
#define DLOG(severity)               LOG_IF(severity, FERRY_CAFFE_DEBUG)
#define DLOG_IF(severity, condition) LOG_IF(severity, FERRY_CAFFE_DEBUG && (condition))
#define DLOG_EVERY_N(severity, n) \
    LOG_IF(severity, FERRY_CAFFE_DEBUG &&FERRY_CAFFE_PASSED % (n) == 0)
#define DCHECK(condition)               CHECK(!FERRY_CAFFE_DEBUG || (condition))
#define FERRY_CAFFE_DCHECK_OP(op, a, b) DCHECK((a)op(b)) << "(" << (a) << " vs. " << (b) << ") "
#define DCHECK_EQ(a, b)                 FERRY_CAFFE_DCHECK_OP(==, a, b)
#define DCHECK_NE(a, b)                 FERRY_CAFFE_DCHECK_OP(!=, a, b)
#define DCHECK_LE(a, b)                 FERRY_CAFFE_DCHECK_OP(<=, a, b)
#define DCHECK_LT(a, b)                 FERRY_CAFFE_DCHECK_OP(<, a, b)
#define DCHECK_GE(a, b)                 FERRY_CAFFE_DCHECK_OP(>=, a, b)
#define DCHECK_GT(a, b)                 FERRY_CAFFE_DCHECK_OP(>, a, b)
#define DCHECK_NOTNULL(pointer)         CHECK_NOTNULL(pointer)

#endif

#endif
