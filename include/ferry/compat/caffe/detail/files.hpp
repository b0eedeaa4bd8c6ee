/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/detail/files.hpp
 * Messages to and from files. Not for programs, which use util/io.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_DETAIL_FILES_HPP
#define FERRY_COMPAT_CAFFE_DETAIL_FILES_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/io.h>

#include <fstream>
#include <iterator>

namespace caffe
{
namespace detail
{

/** Reads a whole file; on failure sets FERRY_EIO and returns false. */
inline bool read_bytes(const char *path, string *bytes)
{
    std::ifstream file(path, std::ios::binary);

    if (file)
        bytes->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (file.bad() || !file.is_open()) {
        ferry_error_set(FERRY_EIO, "%s: it cannot be read", path);
        return false;
    }
    return true;
}
inline void write_bytes(const char *path, const string &bytes)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);

    file << bytes;
    file.close();
    if (!file)
        fail(FERRY_EIO, string(path) + ": it cannot be written");
}

/** Sets FERRY_EFORMAT and returns false. */
inline bool refused(const char *path)
{
    ferry_error_set(FERRY_EFORMAT, "%s: it does not contain such a message", path);
    return false;
}

#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H

inline bool read_text(const char *path, AnyMessage *to)
{
    string text;

    return read_bytes(path, &text) &&
           (::google::protobuf::TextFormat::ParseFromString(text, to) || refused(path));
}
inline bool read_binary(const char *path, AnyMessage *to)
{
    string bytes;

    return read_bytes(path, &bytes) && (to->ParseFromString(bytes) || refused(path));
}
inline bool parse(const string &bytes, AnyMessage *to)
{
    return to->ParseFromString(bytes);
}
inline string binary_of(const AnyMessage &message)
{
    return message.SerializeAsString();
}

#else

/** Reads a text or binary message, detected by its bytes. */
inline bool read_text(const char *path, AnyMessage *to)
{
    ferry_proto *tree = nullptr;

    if (ferry_proto_open(path, to->message_type(), nullptr, &tree) < 0)
        return false;
    const shared_ptr<ferry_proto> closed(tree, ferry_proto_close);
    to->Clear();
    to->read(tree);
    return true;
}
inline bool read_binary(const char *path, AnyMessage *to)
{
    return read_text(path, to);
}
inline bool parse(const string &bytes, AnyMessage *to)
{
    ferry_proto_options options = ferry_proto_options();
    ferry_proto *tree = nullptr;

    options.struct_size = sizeof options;
    options.text = bytes.data();
    options.text_size = bytes.size();
    if (ferry_proto_open(to->message_type(), to->message_type(), &options, &tree) < 0)
        return false;
    const shared_ptr<ferry_proto> closed(tree, ferry_proto_close);
    to->Clear();
    to->read(tree);
    return true;
}
inline string binary_of(const AnyMessage &message)
{
    const string text = message.text();
    ferry_proto_options options = ferry_proto_options();
    ferry_proto *tree = nullptr;
    size_t size = 0;

    options.struct_size = sizeof options;
    options.text = text.data();
    options.text_size = text.size();
    checked(ferry_proto_open(message.message_type(), message.message_type(), &options, &tree));
    const shared_ptr<ferry_proto> closed(tree, ferry_proto_close);
    checked(ferry_proto_serialize(tree, nullptr, 0, &size));
    vector<char> bytes(size + 1);
    checked(ferry_proto_serialize(tree, bytes.data(), size, &size));
    return string(bytes.data(), size);
}

/**
 * Copies an array of a file into a message; a shape of four axes is set in both forms, since
 * programs use either for mean images.
 */
template <typename Dtype>
void read_array(ferry_io *io, const ferry_io_entry *entry, BlobProto *proto)
{
    Blob<Dtype> blob;

    checked(ferry_io_read(io, entry, blob.blob()));
    blob.ToProto(proto, entry->has_diff != 0);
    if (blob.num_axes() == 4) {
        proto->set_num(blob.num());
        proto->set_channels(blob.channels());
        proto->set_height(blob.height());
        proto->set_width(blob.width());
    }
}
/** Reads a BlobProto including its values, which a tree would leave in the file. */
inline bool read_binary(const char *path, BlobProto *proto)
{
    const ferry_io_entry *entry = nullptr;
    ferry_io *io = nullptr;

    if (ferry_io_open(path, &io) < 0)
        return false;
    const shared_ptr<ferry_io> closed(io, ferry_io_close);
    if (ferry_io_entry_at(io, 0, &entry) < 0)
        return false;
    try {
        entry->dtype == FERRY_F64 ? read_array<double>(io, entry, proto)
                                  : read_array<float>(io, entry, proto);
    } catch (const Error &) {
        return false;
    }
    return true;
}

#endif

} // namespace detail
} // namespace caffe

#endif
