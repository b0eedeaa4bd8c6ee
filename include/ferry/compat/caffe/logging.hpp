/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/logging.hpp
 * CHECK and LOG, which Caffe's programs have from glog through Caffe's headers. Whoever wants glog's own includes
 * <glog/logging.h> first. INFO, WARNING and ERROR are lines of ferry's log; FATAL, and a CHECK that does not hold,
 * throw std::logic_error with file and line, where glog ends the process.
 */
#ifndef FERRY_COMPAT_CAFFE_LOGGING_HPP
#define FERRY_COMPAT_CAFFE_LOGGING_HPP

#ifndef CHECK

#include <ferry/status.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace caffe
{
namespace detail
{

/** A line that ends with its statement. */
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

/** Makes the two ways of a conditional one type. */
struct Voided {
    void operator&(std::ostream &) const
    {
    }
};

} // namespace detail
} // namespace caffe

namespace google
{
inline void InitGoogleLogging(const char *)
{
}
} // namespace google

#define FERRY_CAFFE_INFO    FERRY_LOG_INFO
#define FERRY_CAFFE_WARNING FERRY_LOG_WARN
#define FERRY_CAFFE_ERROR   FERRY_LOG_ERROR
#define FERRY_CAFFE_FATAL   (-1)
#define LOG(severity)       ::caffe::detail::Line(FERRY_CAFFE_##severity, __FILE__, __LINE__).stream()
#define LOG_IF(severity, condition) \
    !(condition) ? (void)0 : ::caffe::detail::Voided() & LOG(severity)
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

#endif

#endif
