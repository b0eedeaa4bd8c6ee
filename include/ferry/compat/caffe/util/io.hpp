/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/io.hpp A BlobProto to and from its file. See ferry/caffe.hpp, ferry/io.h. */
#ifndef FERRY_COMPAT_CAFFE_UTIL_IO_HPP
#define FERRY_COMPAT_CAFFE_UTIL_IO_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/io.h>

namespace caffe
{

namespace detail
{

/** An array of a file into a message; a shape of four axes in both forms, since mean images are asked for either. */
template <typename Dtype> void read(ferry_io *io, const ferry_io_entry *entry, BlobProto *proto)
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

} // namespace detail

/** Reads a BlobProto, such as a mean image; false where the file cannot be read: ferry_last_error says why. */
inline bool ReadProtoFromBinaryFile(const char *filename, BlobProto *proto)
{
    const ferry_io_entry *entry = nullptr;
    ferry_io *io = nullptr;

    if (ferry_io_open(filename, &io) < 0)
        return false;
    const shared_ptr<ferry_io> closed(io, ferry_io_close);
    if (ferry_io_entry_at(io, 0, &entry) < 0)
        return false;
    try {
        if (entry->dtype == FERRY_F64)
            detail::read<double>(io, entry, proto);
        else
            detail::read<float>(io, entry, proto);
    } catch (const Error &) {
        return false;
    }
    return true;
}
inline bool ReadProtoFromBinaryFile(const string &filename, BlobProto *proto)
{
    return ReadProtoFromBinaryFile(filename.c_str(), proto);
}

/** The same; an Error where Caffe ends the process. */
inline void ReadProtoFromBinaryFileOrDie(const char *filename, BlobProto *proto)
{
    if (!ReadProtoFromBinaryFile(filename, proto))
        throw Error(ferry_last_error_code(), ferry_last_error());
}
inline void ReadProtoFromBinaryFileOrDie(const string &filename, BlobProto *proto)
{
    ReadProtoFromBinaryFileOrDie(filename.c_str(), proto);
}

/** Writes a BlobProto; what was there is replaced in one step, or an Error. */
inline void WriteProtoToBinaryFile(const BlobProto &proto, const char *filename)
{
    ferry_io_writer *writer = nullptr;
    Blob<float> narrow;
    Blob<double> wide;
    const bool is_wide = proto.double_data_size() > 0;
    int err;

    is_wide ? wide.FromProto(proto) : narrow.FromProto(proto);
    detail::checked(ferry_io_writer_create(filename, FERRY_IO_BLOBPROTO, &writer));
    err = ferry_io_writer_write(writer, "blob", is_wide ? wide.blob() : narrow.blob(),
                         proto.diff_size() + proto.double_diff_size() > 0);
    if (err < 0)
        ferry_io_writer_abort(writer);
    else
        err = ferry_io_writer_commit(writer);
    detail::checked(err);
}
inline void WriteProtoToBinaryFile(const BlobProto &proto, const string &filename)
{
    WriteProtoToBinaryFile(proto, filename.c_str());
}

} // namespace caffe

#endif
