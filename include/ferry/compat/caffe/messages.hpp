/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/messages.hpp
 * caffe.proto's messages: ferry's own classes (proto/caffe.pb.h), or those that protoc has
 * generated for the program. Not for programs, which include <caffe/proto/caffe.pb.h> as with
 * Caffe. The program's classes are used
 *   - if FERRY_CAFFE_PROTO is the name of their header: -DFERRY_CAFFE_PROTO='"my/caffe.pb.h"';
 *   - if that header was included before this one;
 *   - if <caffe/proto/caffe.pb.h> is found in a folder before ferry's on the include path.
 * All files of one program must use the same classes.
 */
#ifndef FERRY_COMPAT_CAFFE_MESSAGES_HPP
#define FERRY_COMPAT_CAFFE_MESSAGES_HPP

#if defined FERRY_CAFFE_PROTO
#include FERRY_CAFFE_PROTO
#elif !defined GOOGLE_PROTOBUF_INCLUDED_caffe_2eproto &&                     \
    !defined GOOGLE_PROTOBUF_INCLUDED_caffe_2fproto_2fcaffe_2eproto &&       \
    !defined GOOGLE_PROTOBUF_INCLUDED_src_2fcaffe_2fproto_2fcaffe_2eproto && \
    !defined PROTOBUF_INCLUDED_caffe_2eproto && !defined PROTOBUF_caffe_2eproto__INCLUDED
#ifdef __has_include
#if __has_include(<caffe/messages.hpp>) /* ferry's folder is on the include path */
#include <caffe/proto/caffe.pb.h>
#else
#include <ferry/compat/caffe/proto/caffe.pb.h>
#endif
#else
#include <ferry/compat/caffe/proto/caffe.pb.h>
#endif
#endif

#include <ferry/compat/caffe/detail/runtime.hpp>
#include <ferry/proto.h>

#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H
#include <google/protobuf/text_format.h>
#endif

#include <string>
#include <vector>

namespace caffe
{
namespace detail
{

/** The text of a message in one of ferry's trees. */
inline std::string text_of(const ferry_proto *message)
{
    size_t size = 0;

    checked(ferry_proto_print(message, nullptr, 0, &size));
    std::vector<char> text(size + 1);
    checked(ferry_proto_print(message, text.data(), text.size(), &size));
    return std::string(text.data(), size);
}

#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H

/** The program's classes are protobuf's. */
typedef ::google::protobuf::Message AnyMessage;

/** A message as text. */
inline std::string text_of(const AnyMessage &message)
{
    std::string text;

    ::google::protobuf::TextFormat::PrintToString(message, &text);
    return text;
}

/** Copies a message of ferry; fields that the program's caffe.proto lacks are omitted. */
inline void read_message(const ferry_proto *from, AnyMessage *to)
{
    ::google::protobuf::TextFormat::Parser parser;

    parser.AllowPartialMessage(true);
    parser.AllowUnknownField(true);
    if (!parser.ParseFromString(text_of(from), to))
        fail(FERRY_EFORMAT,
             std::string("a ") + ferry_proto_type(from) + " that caffe.pb.h cannot read");
}

#else

/** ferry's own classes. */
typedef Message AnyMessage;

inline std::string text_of(const AnyMessage &message)
{
    return message.text();
}

inline void read_message(const ferry_proto *from, AnyMessage *to)
{
    to->Clear();
    to->read(from);
}

#endif

} // namespace detail
} // namespace caffe

#endif
