/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/image.hpp Images into blobs and back. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_IMAGE_HPP
#define FERRY_DNN_IMAGE_HPP

#include <ferry/dnn/params.hpp>
#include <ferry/dnn/resize.hpp>

FERRY_DNN_BEGIN
namespace detail
{

/** Writes the part of a picture from (top, left) on into a part of a blob, in its layout. */
template <typename To, typename Real>
void fill_blob(To *to, const Picture<Real> &picture, int top, int left, const Image2BlobParams &how)
{
    const bool together = how.datalayout == DNN_LAYOUT_NHWC;
    const int step = together ? picture.channels : 1;
    const int area = together ? 1 : how.size.width * how.size.height;

    for (int c = 0; c < picture.channels; c++) {
        const int from = how.swapRB && picture.channels > 1 && c < 3 ? 2 - c : c;
        const To less = static_cast<To>(how.mean[c]), times = static_cast<To>(how.scalefactor[c]);
        To *at = to + static_cast<size_t>(c) * static_cast<size_t>(area);

        for (int row = 0; row < how.size.height; row++) {
            const Real *pixel = picture.row(top + row) + left * picture.channels + from;

            for (int col = 0; col < how.size.width; col++, pixel += picture.channels, at += step)
                *at = static_cast<To>((static_cast<To>(*pixel) - less) * times);
        }
    }
}

/** A picture in the middle of a border, whose values are rounded to the image's type T. */
template <typename T, typename Real>
Picture<Real> bordered(const Picture<Real> &inner, const Letterbox &box,
                       const Image2BlobParams &how)
{
    Picture<Real> out = blank<Real>(how.size.height, how.size.width, inner.channels);

    for (size_t k = 0; k < out.values.size(); k++)
        out.values[k] =
            saturated<T>(static_cast<Real>(how.borderValue[static_cast<int>(k) % inner.channels]));
    for (int row = 0; row < inner.rows; row++)
        std::copy_n(inner.row(row), inner.cols * inner.channels,
                    out.row(box.top + row) + box.left * inner.channels);
    return out;
}

/** An image of elements of type T, in the size and by the mode of the parameters. */
template <typename T, typename Real, typename To>
void fill(To *to, const Mat &image, const Image2BlobParams &how)
{
    const Size &size = how.size;
    const Size old(image.cols, image.rows);
    const bool fits = image.rows == size.height && image.cols == size.width;

    if (!fits && how.paddingmode == DNN_PMODE_CROP_CENTER) {
        const double factor = cover(old, size);
        const Picture<Real> whole =
            resized<T, Real>(image, static_cast<int>(std::lrint(image.rows * factor)),
                             static_cast<int>(std::lrint(image.cols * factor)), factor);

        fill_blob(to, whole, static_cast<int>(0.5 * (whole.rows - size.height)),
                  static_cast<int>(0.5 * (whole.cols - size.width)), how);
    } else if (!fits && how.paddingmode == DNN_PMODE_LETTERBOX) {
        const Letterbox box(old, size);

        require(box.inner.width > 0 && box.inner.height > 0, "inv_scale_x > 0 && inv_scale_y > 0",
                "blobFromImageWithParams");
        fill_blob(
            to,
            bordered<T>(resized<T, Real>(image, box.inner.height, box.inner.width, 0), box, how), 0,
            0, how);
    } else {
        fill_blob(to, resized<T, Real>(image, size.height, size.width, 0), 0, 0, how);
    }
}

template <typename To> void fill_any(To *to, const Mat &image, const Image2BlobParams &how)
{
    switch (image.depth()) {
    case CV_8U:
        return fill<uint8_t, float>(to, image, how);
    case CV_8S:
        return fill<int8_t, float>(to, image, how);
    case CV_16U:
        return fill<uint16_t, float>(to, image, how);
    case CV_16S:
        return fill<int16_t, float>(to, image, how);
    case CV_32S:
        return fill<int32_t, double>(to, image, how);
    case CV_32F:
        return fill<float, float>(to, image, how);
    case CV_64F:
        return fill<double, double>(to, image, how);
    default:
        fail(BAD_ARGUMENT, "images of this depth are not supported", "blobFromImage");
    }
}

inline void check_params(const Image2BlobParams &how)
{
    if (how.ddepth != CV_32F && how.ddepth != CV_8U)
        fail(FAILED, "Blob depth should be CV_32F or CV_8U", "blobFromImage");
    for (int k = 0; k < 4 && how.ddepth == CV_8U; k++) {
        require(!(how.scalefactor[k] < 1 || how.scalefactor[k] > 1),
                "Scaling is not supported for CV_8U blob depth", "blobFromImage");
        require(!(how.mean[k] < 0 || how.mean[k] > 0),
                "Mean subtraction is not supported for CV_8U blob depth", "blobFromImage");
    }
    if (how.datalayout != DNN_LAYOUT_NCHW && how.datalayout != DNN_LAYOUT_NHWC)
        fail(BAD_FORMAT, "Unsupported data layout", "blobFromImageWithParams");
}

inline MatShape shape_of(int images, int channels, const Image2BlobParams &how)
{
    if (how.datalayout == DNN_LAYOUT_NHWC)
        return MatShape{ images, how.size.height, how.size.width, channels };
    return MatShape{ images, channels, how.size.height, how.size.width };
}

inline Mat blob_of(const std::vector<Mat> &images, Image2BlobParams how)
{
    require(!images.empty(), "!images.empty()", "blobFromImage");
    check_params(how);
    const Mat &first = images[0];
    const int channels = first.channels();

    require(channels == 1 || channels == 3 || channels == 4,
            "channels == 1 || channels == 3 || channels == 4", "blobFromImage");
    if (!how.size.width && !how.size.height)
        how.size = Size(first.cols, first.rows);
    require(how.size.width > 0 && how.size.height > 0, "size.width > 0 && size.height > 0",
            "blobFromImage");
    Mat blob = made(shape_of(static_cast<int>(images.size()), channels, how), how.ddepth);
    for (size_t k = 0; k < images.size(); k++) {
        require(images[k].dims == 2 && !images[k].empty() && images[k].type() == first.type(),
                "image.dims == 2 && images[k].type() == images[0].type()", "blobFromImage");
        if (how.ddepth == CV_32F)
            fill_any(blob.ptr<float>(static_cast<int>(k)), images[k], how);
        else
            fill_any(blob.ptr<uint8_t>(static_cast<int>(k)), images[k], how);
    }
    return blob;
}

inline Image2BlobParams params_of(double scale, const Size &size, const Scalar &mean, bool swapRB,
                                  bool crop, int ddepth)
{
    return Image2BlobParams(Scalar(scale, scale, scale, scale), size, mean, swapRB,
                            ddepth < 0 ? static_cast<int>(CV_32F) : ddepth, DNN_LAYOUT_NCHW,
                            crop ? DNN_PMODE_CROP_CENTER : DNN_PMODE_NULL);
}

} // namespace detail

/**
 * A blob, 1 × channels × height × width, of an image of any element type with 1, 3 or 4 channels:
 * resized to `size` (none: its own), less `mean`, times `scalefactor`. `crop` scales it so that it
 * covers the size and crops from the centre. An empty image gives an empty blob.
 * [cv::dnn::blobFromImage]
 */
inline Mat blobFromImage(InputArray image, double scalefactor = 1.0, const Size &size = Size(),
                         const Scalar &mean = Scalar(), bool swapRB = false, bool crop = false,
                         int ddepth = CV_32F)
{
    const Mat pixels = detail::matrix(image);

    return pixels.empty() ? Mat()
                          : detail::blob_of({ pixels }, detail::params_of(scalefactor, size, mean,
                                                                          swapRB, crop, ddepth));
}

inline void blobFromImage(InputArray image, OutputArray blob, double scalefactor = 1.0,
                          const Size &size = Size(), const Scalar &mean = Scalar(),
                          bool swapRB = false, bool crop = false, int ddepth = CV_32F)
{
    detail::give(blob, blobFromImage(image, scalefactor, size, mean, swapRB, crop, ddepth));
}

/**
 * The same of several images of one type, in `size` or in that of the first.
 * [cv::dnn::blobFromImages]
 */
inline Mat blobFromImages(InputArrayOfArrays images, double scalefactor = 1.0,
                          const Size &size = Size(), const Scalar &mean = Scalar(),
                          bool swapRB = false, bool crop = false, int ddepth = CV_32F)
{
    return detail::blob_of(detail::matrices(images),
                           detail::params_of(scalefactor, size, mean, swapRB, crop, ddepth));
}

inline void blobFromImages(InputArrayOfArrays images, OutputArray blob, double scalefactor = 1.0,
                           const Size &size = Size(), const Scalar &mean = Scalar(),
                           bool swapRB = false, bool crop = false, int ddepth = CV_32F)
{
    detail::give(blob, blobFromImages(images, scalefactor, size, mean, swapRB, crop, ddepth));
}

/** A blob of an image by parameters. [cv::dnn::blobFromImageWithParams] */
inline Mat blobFromImageWithParams(InputArray image,
                                   const Image2BlobParams &param = Image2BlobParams())
{
    return detail::blob_of({ detail::matrix(image) }, param);
}

inline void blobFromImageWithParams(InputArray image, OutputArray blob,
                                    const Image2BlobParams &param = Image2BlobParams())
{
    detail::give(blob, blobFromImageWithParams(image, param));
}

/** The same of several images of one type. [cv::dnn::blobFromImagesWithParams] */
inline Mat blobFromImagesWithParams(InputArrayOfArrays images,
                                    const Image2BlobParams &param = Image2BlobParams())
{
    return detail::blob_of(detail::matrices(images), param);
}

inline void blobFromImagesWithParams(InputArrayOfArrays images, OutputArray blob,
                                     const Image2BlobParams &param = Image2BlobParams())
{
    detail::give(blob, blobFromImagesWithParams(images, param));
}

/**
 * The images of a blob of floats, each height × width with its channels together.
 * [cv::dnn::imagesFromBlob]
 */
inline void imagesFromBlob(const Mat &blob_, OutputArrayOfArrays images_)
{
    std::vector<Mat> images;

    detail::require(blob_.depth() == CV_32F, "blob_.depth() == CV_32F", "imagesFromBlob");
    detail::require(blob_.dims == 4, "blob_.dims == 4", "imagesFromBlob");
    for (int n = 0; n < blob_.size[0]; n++) {
        const int channels = blob_.size[1];
        const size_t area = static_cast<size_t>(blob_.size[2]) * static_cast<size_t>(blob_.size[3]);
        Mat image(blob_.size[2], blob_.size[3], CV_MAKETYPE(CV_32F, channels));
        float *to = image.ptr<float>();
        const float *from = blob_.ptr<float>(n);

        for (size_t k = 0; k < area; k++) {
            for (size_t c = 0; c < static_cast<size_t>(channels); c++)
                *to++ = from[c * area + k];
        }
        images.push_back(image);
    }
    detail::give(images_, images);
}

FERRY_DNN_END

#endif
