/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/io.hpp
 * Reading and writing messages and pictures. With USE_OPENCV defined pictures are decoded and
 * resized by the program's OpenCV, otherwise by ferry (ferry/image.h). See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_IO_HPP
#define FERRY_COMPAT_CAFFE_UTIL_IO_HPP

#include <ferry/compat/caffe/detail/files.hpp>
#include <ferry/compat/caffe/util/format.hpp>
#include <ferry/image.h>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <cstdlib>

namespace caffe
{

#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H
using ::google::protobuf::Message;
#endif

/* ---- temporary files ---- */

/** Creates a folder below TMPDIR, or else /tmp; the caller removes it. */
inline void MakeTempDir(string *temp_dirname)
{
    const char *const where = std::getenv("TMPDIR");

    *temp_dirname = string(where && *where ? where : "/tmp") + "/caffe_test.XXXXXX";
    CHECK(mkdtemp(&(*temp_dirname)[0])) << "Failed to create a temporary directory.";
}
/** A name of a nonexistent file in a folder of this process. */
inline void MakeTempFilename(string *temp_filename)
{
    static string folder;
    static int next = 0;

    if (folder.empty())
        MakeTempDir(&folder);
    *temp_filename = folder + "/" + format_int(next++, 9);
}

/*
 * ---- messages. Reading returns false on failure (ferry_last_error); …OrDie and writing throw ----
 */

template <typename M> bool ReadProtoFromTextFile(const string &filename, M *proto)
{
    return detail::read_text(filename.c_str(), proto);
}
template <typename M> void ReadProtoFromTextFileOrDie(const string &filename, M *proto)
{
    if (!ReadProtoFromTextFile(filename, proto))
        throw Error(ferry_last_error_code(), ferry_last_error());
}
template <typename M> void WriteProtoToTextFile(const M &proto, const string &filename)
{
    detail::write_bytes(filename.c_str(), detail::text_of(proto));
}
template <typename M> bool ReadProtoFromBinaryFile(const string &filename, M *proto)
{
    return detail::read_binary(filename.c_str(), proto);
}
template <typename M> void ReadProtoFromBinaryFileOrDie(const string &filename, M *proto)
{
    if (!ReadProtoFromBinaryFile(filename, proto))
        throw Error(ferry_last_error_code(), ferry_last_error());
}
template <typename M> void WriteProtoToBinaryFile(const M &proto, const string &filename)
{
    detail::write_bytes(filename.c_str(), detail::binary_of(proto));
}

/* ---- pictures as records ---- */

/** Stores a file's bytes, which are an encoded picture. */
inline bool ReadFileToDatum(const string &filename, int label, Datum *datum)
{
    string bytes;

    if (!detail::read_bytes(filename.c_str(), &bytes))
        return false;
    datum->set_data(bytes);
    datum->set_label(label);
    datum->set_encoded(true);
    return true;
}
inline bool ReadFileToDatum(const string &filename, Datum *datum)
{
    return ReadFileToDatum(filename, -1, datum);
}

#ifdef USE_OPENCV

/** Reads a picture, and resizes it unless height and width are 0; empty on failure. */
inline cv::Mat ReadImageToCVMat(const string &filename, int height, int width, bool is_color)
{
    const cv::Mat read = cv::imread(filename, is_color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
    cv::Mat resized;

    if (!read.data) {
        LOG(ERROR) << "Could not open or find file " << filename;
        return read;
    }
    if (height <= 0 || width <= 0)
        return read;
    cv::resize(read, resized, cv::Size(width, height));
    return resized;
}
inline cv::Mat ReadImageToCVMat(const string &filename, int height, int width)
{
    return ReadImageToCVMat(filename, height, width, true);
}
inline cv::Mat ReadImageToCVMat(const string &filename, bool is_color)
{
    return ReadImageToCVMat(filename, 0, 0, is_color);
}
inline cv::Mat ReadImageToCVMat(const string &filename)
{
    return ReadImageToCVMat(filename, 0, 0, true);
}

namespace detail
{
inline cv::Mat decoded(const Datum &datum, int flag)
{
    CHECK(datum.encoded()) << "Datum not encoded";
    const vector<char> bytes(datum.data().begin(), datum.data().end());
    const cv::Mat image = cv::imdecode(bytes, flag);

    if (!image.data)
        LOG(ERROR) << "Could not decode datum ";
    return image;
}
} // namespace detail

inline cv::Mat DecodeDatumToCVMatNative(const Datum &datum)
{
    return detail::decoded(datum, cv::IMREAD_UNCHANGED);
}
inline cv::Mat DecodeDatumToCVMat(const Datum &datum, bool is_color)
{
    return detail::decoded(datum, is_color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
}
/** Bytes by channel, row and column. */
inline void CVMatToDatum(const cv::Mat &cv_img, Datum *datum)
{
    const int channels = cv_img.channels();
    string bytes;

    CHECK(cv_img.depth() == CV_8U) << "Image data type must be unsigned byte";
    bytes.reserve(cv_img.total() * static_cast<size_t>(channels));
    for (int c = 0; c < channels; c++)
        for (int h = 0; h < cv_img.rows; h++)
            for (int w = 0; w < cv_img.cols; w++)
                bytes.push_back(static_cast<char>(cv_img.ptr<uchar>(h)[w * channels + c]));
    datum->set_channels(channels);
    datum->set_height(cv_img.rows);
    datum->set_width(cv_img.cols);
    datum->clear_float_data();
    datum->set_encoded(false);
    datum->set_data(bytes);
}

namespace detail
{
/** Encodes a picture in the file format of the suffix `encoding`. */
inline void encode(const cv::Mat &image, const string &encoding, Datum *datum)
{
    vector<uchar> bytes;

    cv::imencode("." + encoding, image, bytes);
    datum->set_data(string(bytes.begin(), bytes.end()));
    datum->set_encoded(true);
}
/**
 * Whether a file's name has the suffix of its encoding, so that its bytes can be used unchanged.
 */
inline bool is_encoded(const string &filename, const string &encoding)
{
    const size_t dot = filename.rfind('.');
    const string suffix = dot == string::npos ? string() : filename.substr(dot + 1);

    return suffix == encoding || (suffix == "jpg" && encoding == "jpeg") ||
           (suffix == "jpeg" && encoding == "jpg");
}
} // namespace detail

/**
 * Reads a picture and stores its pixels. With an `encoding` ("jpg") it stores an encoded picture
 * instead: the bytes of the file, or, if the picture has to change, the picture encoded again.
 */
inline bool ReadImageToDatum(const string &filename, int label, int height, int width,
                             bool is_color, const string &encoding, Datum *datum)
{
    const cv::Mat image = ReadImageToCVMat(filename, height, width, is_color);

    if (!image.data)
        return false;
    if (encoding.empty())
        CVMatToDatum(image, datum);
    else if ((image.channels() == 3) == is_color && !height && !width &&
             detail::is_encoded(filename, encoding))
        return ReadFileToDatum(filename, label, datum);
    else
        detail::encode(image, encoding, datum);
    datum->set_label(label);
    return true;
}
/** Replaces an encoded picture by its pixels; false if it was not encoded. */
inline bool DecodeDatumNative(Datum *datum)
{
    if (!datum->encoded())
        return false;
    CVMatToDatum(DecodeDatumToCVMatNative(*datum), datum);
    return true;
}
inline bool DecodeDatum(Datum *datum, bool is_color)
{
    if (!datum->encoded())
        return false;
    CVMatToDatum(DecodeDatumToCVMat(*datum, is_color), datum);
    return true;
}

#else

namespace detail
{
/** A blob of bytes for pictures. */
inline shared_ptr<ferry_blob> bytes_blob()
{
    ferry_device *cpu = nullptr;
    ferry_blob *blob = nullptr;

    checked(ferry_runtime_get_device(runtime(), "cpu", &cpu));
    checked(ferry_blob_create(cpu, FERRY_U8, nullptr, FERRY_UNSHAPED, &blob));
    return shared_ptr<ferry_blob>(blob, ferry_blob_destroy);
}
inline void give(const ferry_blob *picture, Datum *datum)
{
    const char *const bytes = static_cast<const char *>(checked(ferry_blob_host_data(picture)));

    datum->set_channels(narrowed(ferry_blob_dim(picture, 0)));
    datum->set_height(narrowed(ferry_blob_dim(picture, 1)));
    datum->set_width(narrowed(ferry_blob_dim(picture, 2)));
    datum->clear_float_data();
    datum->set_encoded(false);
    datum->set_data(string(bytes, static_cast<size_t>(ferry_blob_element_count(picture))));
}
/** Resizes a picture, rounding to bytes. */
inline void resize(const shared_ptr<ferry_blob> &picture, int height, int width)
{
    ferry_image_transform_options options = ferry_image_transform_options();
    Blob<float> resized;

    options.struct_size = sizeof options;
    options.height = height;
    options.width = width;
    checked(ferry_image_transform(picture.get(), &options, resized.blob(), -1));
    resized.Reshape(vector<int>{ resized.shape(1), height, width });
    checked(ferry_blob_copy_from(picture.get(), resized.blob(), FERRY_COPY_RESHAPE));
}
inline bool decode(Datum *datum, int channels)
{
    const shared_ptr<ferry_blob> picture = bytes_blob();

    if (!datum->encoded())
        return false;
    checked(ferry_image_decode(datum->data().data(), datum->data().size(), "datum", channels,
                               picture.get()));
    give(picture.get(), datum);
    return true;
}
} // namespace detail

/**
 * Reads a picture and stores its bytes by channel, row and column. With an `encoding` it stores the
 * bytes of the file, and cannot resize the picture.
 */
inline bool ReadImageToDatum(const string &filename, int label, int height, int width,
                             bool is_color, const string &encoding, Datum *datum)
{
    const shared_ptr<ferry_blob> picture = detail::bytes_blob();

    if (!encoding.empty()) {
        CHECK(!height && !width) << "encoding a picture again requires OpenCV (USE_OPENCV)";
        return ReadFileToDatum(filename, label, datum);
    }
    if (ferry_image_read(filename.c_str(), is_color ? 3 : 1, picture.get()) < 0)
        return false;
    if (height > 0 && width > 0)
        detail::resize(picture, height, width);
    detail::give(picture.get(), datum);
    datum->set_label(label);
    return true;
}
/** Replaces an encoded picture by its pixels; false if it was not encoded. */
inline bool DecodeDatumNative(Datum *datum)
{
    return detail::decode(datum, 0);
}
inline bool DecodeDatum(Datum *datum, bool is_color)
{
    return detail::decode(datum, is_color ? 3 : 1);
}

#endif

inline bool ReadImageToDatum(const string &filename, int label, int height, int width,
                             bool is_color, Datum *datum)
{
    return ReadImageToDatum(filename, label, height, width, is_color, "", datum);
}
inline bool ReadImageToDatum(const string &filename, int label, int height, int width, Datum *datum)
{
    return ReadImageToDatum(filename, label, height, width, true, datum);
}
inline bool ReadImageToDatum(const string &filename, int label, bool is_color, Datum *datum)
{
    return ReadImageToDatum(filename, label, 0, 0, is_color, datum);
}
inline bool ReadImageToDatum(const string &filename, int label, Datum *datum)
{
    return ReadImageToDatum(filename, label, 0, 0, true, datum);
}
inline bool ReadImageToDatum(const string &filename, int label, const string &encoding,
                             Datum *datum)
{
    return ReadImageToDatum(filename, label, 0, 0, true, encoding, datum);
}

} // namespace caffe

#endif
