/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/params.hpp The parameters of images that become a blob. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_PARAMS_HPP
#define FERRY_DNN_PARAMS_HPP

#include <ferry/dnn/types.hpp>

#include <algorithm>

FERRY_DNN_BEGIN

/** The order of a blob's axes, with OpenCV's numbers. Blobs of images are NCHW or NHWC. */
enum DataLayout {
    DNN_LAYOUT_UNKNOWN = 0,
    DNN_LAYOUT_ND = 1,
    DNN_LAYOUT_NCHW = 2,
    DNN_LAYOUT_NCDHW = 3,
    DNN_LAYOUT_NHWC = 4,
    DNN_LAYOUT_NDHWC = 5,
    DNN_LAYOUT_PLANAR = 6
};

/** How an image gets the blob's size. */
enum ImagePaddingMode {
    DNN_PMODE_NULL = 0,        /**< stretched */
    DNN_PMODE_CROP_CENTER = 1, /**< scaled so that it covers the size, cropped from the centre */
    DNN_PMODE_LETTERBOX = 2    /**< scaled so that it fits, in the middle of a border */
};

namespace detail
{

inline float ratio(int part, int whole)
{
    return static_cast<float>(part) / static_cast<float>(whole);
}

/** The factor with which an image covers a size. */
inline float cover(const Size &image, const Size &size)
{
    return std::max(ratio(size.width, image.width), ratio(size.height, image.height));
}

/** The factor with which an image fits into a size, and its position there. */
struct Letterbox {
    Letterbox(const Size &image, const Size &size)
        : factor(std::min(ratio(size.width, image.width), ratio(size.height, image.height))),
          inner(static_cast<int>(static_cast<float>(image.width) * factor),
                static_cast<int>(static_cast<float>(image.height) * factor)),
          left((size.width - inner.width) / 2), top((size.height - inner.height) / 2)
    {
    }
    float factor;
    Size inner;
    int left, top;
};

} // namespace detail

/**
 * How images become a blob: (image − mean) × scalefactor, each with a value for each channel of
 * the blob, with red and blue swapped before (swapRB), in `size` (none: the first image's) by
 * `paddingmode`. `borderValue` has the values of a letterbox's border in the channels of the image.
 * [cv::dnn::Image2BlobParams]
 */
struct Image2BlobParams {
    Image2BlobParams() : Image2BlobParams(Scalar(1, 1, 1, 1))
    {
    }
    /** `scalefactor_` has four values, as in OpenCV: a single number is the value of the first
     * channel only. */
    Image2BlobParams(const Scalar &scalefactor_, const Size &size_ = Size(),
                     const Scalar &mean_ = Scalar(), bool swapRB_ = false, int ddepth_ = CV_32F,
                     DataLayout datalayout_ = DNN_LAYOUT_NCHW,
                     ImagePaddingMode mode_ = DNN_PMODE_NULL, Scalar borderValue_ = Scalar())
        : scalefactor(scalefactor_), size(size_), mean(mean_), swapRB(swapRB_), ddepth(ddepth_),
          datalayout(datalayout_), paddingmode(mode_), borderValue(borderValue_)
    {
    }

    /** Converts a rectangle of the blob to one in an image of that size. Error: a side is not
     * positive. */
    Rect blobRectToImageRect(const Rect &rBlob, const Size &image) const
    {
        detail::require(
            std::min(std::min(image.width, image.height), std::min(size.width, size.height)) > 0,
            "size.width > 0 && size.height > 0", "blobRectToImageRect");
        if (size.width == image.width && size.height == image.height)
            return rBlob;
        switch (paddingmode) {
        case DNN_PMODE_CROP_CENTER:
            return from_crop(rBlob, image, detail::cover(image, size));
        case DNN_PMODE_LETTERBOX:
            return from_letterbox(rBlob, detail::Letterbox(image, size));
        default:
            return from_stretched(rBlob, image);
        }
    }

    /** As blobRectToImageRect, for several rectangles. */
    void blobRectsToImageRects(const std::vector<Rect> &rBlob, std::vector<Rect> &rImg,
                               const Size &image) const
    {
        std::vector<Rect> out;

        for (const Rect &one : rBlob)
            out.push_back(blobRectToImageRect(one, image));
        rImg.swap(out);
    }

    Scalar scalefactor;
    Size size;
    Scalar mean;
    bool swapRB;
    int ddepth;
    DataLayout datalayout;
    ImagePaddingMode paddingmode;
    Scalar borderValue;

  private:
    static int divided(int value, float factor)
    {
        return static_cast<int>(static_cast<float>(value) / factor);
    }
    static int stretched(int value, int image, int blob)
    {
        return static_cast<int>(static_cast<float>(value) * static_cast<float>(image) /
                                static_cast<float>(blob));
    }
    /** OpenCV computes a crop's corner in double, and so does this function. */
    static int uncropped(int value, int image, int blob, float factor)
    {
        const float margin = static_cast<float>(image) * factor - static_cast<float>(blob);

        return static_cast<int>((value + 0.5 * static_cast<double>(margin)) /
                                static_cast<double>(factor));
    }

    Rect from_stretched(const Rect &r, const Size &image) const
    {
        return Rect(stretched(r.x, image.width, size.width),
                    stretched(r.y, image.height, size.height),
                    stretched(r.width, image.width, size.width),
                    stretched(r.height, image.height, size.height));
    }
    Rect from_crop(const Rect &r, const Size &image, float factor) const
    {
        return Rect(uncropped(r.x, image.width, size.width, factor),
                    uncropped(r.y, image.height, size.height, factor), divided(r.width, factor),
                    divided(r.height, factor));
    }
    static Rect from_letterbox(const Rect &r, const detail::Letterbox &box)
    {
        return Rect(divided(r.x - box.left, box.factor), divided(r.y - box.top, box.factor),
                    divided(r.width, box.factor), divided(r.height, box.factor));
    }
};

FERRY_DNN_END

#endif
