/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/format.hpp A number with leading zeros. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_UTIL_FORMAT_HPP
#define FERRY_COMPAT_CAFFE_UTIL_FORMAT_HPP

#include <iomanip>
#include <sstream>
#include <string>

namespace caffe
{

/** Formats n with leading zeros to at least `numberOfLeadingZeros` characters. */
inline std::string format_int(int n, int numberOfLeadingZeros = 0)
{
    std::ostringstream text;

    text << std::setw(numberOfLeadingZeros) << std::setfill('0') << n;
    return text.str();
}

} // namespace caffe

#endif
