/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/image.hpp Images into blobs and back. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_IMAGE_HPP
#define FERRY_DNN_IMAGE_HPP

#include <ferry/dnn/resize.hpp>

FERRY_DNN_BEGIN
namespace detail
{

/** How an image becomes a part of a blob. */
struct Filling {
    double scale;
    Size size;
    Scalar mean;
    bool swap, crop;
};

/** Writes the part of a picture from (top, left) on into channels × height × width. */
template <typename To, typename Real>
void fill_planes(To *to, const Picture<Real> &picture, int top, int left, const Filling &how)
{
    for (int c = 0; c < picture.channels; c++) {
        const int from = how.swap && picture.channels > 1 && c < 3 ? 2 - c : c;
        const To less = static_cast<To>(how.mean[c]), times = static_cast<To>(how.scale);

        for (int row = 0; row < how.size.height; row++) {
            const Real *pixel = picture.row(top + row) + left * picture.channels + from;

            for (int col = 0; col < how.size.width; col++, pixel += picture.channels)
                *to++ = static_cast<To>((static_cast<To>(*pixel) - less) * times);
        }
    }
}

/**
 * An image of elements of type T: stretched, or scaled so that it covers the size, and cropped from
 * the centre.
 */
template <typename T, typename Real, typename To>
void fill(To *to, const Mat &image, const Filling &how)
{
    const Size &size = how.size;

    if (!how.crop || (image.rows == size.height && image.cols == size.width)) {
        fill_planes(to, resized<T, Real>(image, size.height, size.width, 0), 0, 0, how);
        return;
    }
    const double factor =
        std::max(static_cast<float>(size.width) / static_cast<float>(image.cols),
                 static_cast<float>(size.height) / static_cast<float>(image.rows));
    const Picture<Real> whole =
        resized<T, Real>(image, static_cast<int>(std::lrint(image.rows * factor)),
                         static_cast<int>(std::lrint(image.cols * factor)), factor);
    fill_planes(to, whole, static_cast<int>(0.5 * (whole.rows - size.height)),
                static_cast<int>(0.5 * (whole.cols - size.width)), how);
}

template <typename To> void fill_any(To *to, const Mat &image, const Filling &how)
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

inline void check_depth(int ddepth, double scale, const Scalar &mean)
{
    if (ddepth != CV_32F && ddepth != CV_8U)
        fail(FAILED, "Blob depth should be CV_32F or CV_8U", "blobFromImage");
    if (ddepth == CV_8U) {
        require(!(scale < 1 || scale > 1), "Scaling is not supported for CV_8U blob depth",
                "blobFromImage");
        for (int k = 0; k < 4; k++)
            require(!(mean[k] < 0 || mean[k] > 0),
                    "Mean subtraction is not supported for CV_8U blob depth", "blobFromImage");
    }
}

inline Mat blob_of(const std::vector<Mat> &images, Filling how, int ddepth)
{
    require(!images.empty(), "!images.empty()", "blobFromImage");
    ddepth = ddepth < 0 ? CV_32F : ddepth;
    check_depth(ddepth, how.scale, how.mean);
    const Mat &first = images[0];
    const int channels = first.channels();

    require(channels == 1 || channels == 3 || channels == 4,
            "channels == 1 || channels == 3 || channels == 4", "blobFromImage");
    if (!how.size.width && !how.size.height)
        how.size = Size(first.cols, first.rows);
    require(how.size.width > 0 && how.size.height > 0, "size.width > 0 && size.height > 0",
            "blobFromImage");
    Mat blob =
        made(MatShape{ static_cast<int>(images.size()), channels, how.size.height, how.size.width },
             ddepth);
    for (size_t k = 0; k < images.size(); k++) {
        require(images[k].dims == 2 && !images[k].empty() && images[k].type() == first.type(),
                "image.dims == 2 && images[k].type() == images[0].type()", "blobFromImage");
        if (ddepth == CV_32F)
            fill_any(blob.ptr<float>(static_cast<int>(k)), images[k], how);
        else
            fill_any(blob.ptr<uint8_t>(static_cast<int>(k)), images[k], how);
    }
    return blob;
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

    return pixels.empty()
               ? Mat()
               : detail::blob_of({ pixels },
                                 detail::Filling{ scalefactor, size, mean, swapRB, crop }, ddepth);
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
                           detail::Filling{ scalefactor, size, mean, swapRB, crop }, ddepth);
}

inline void blobFromImages(InputArrayOfArrays images, OutputArray blob, double scalefactor = 1.0,
                           const Size &size = Size(), const Scalar &mean = Scalar(),
                           bool swapRB = false, bool crop = false, int ddepth = CV_32F)
{
    detail::give(blob, blobFromImages(images, scalefactor, size, mean, swapRB, crop, ddepth));
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
