/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file image.h
 * Images as inputs of nets: reading PNG and JPEG files into blobs, and preprocessing. Part of
 * libferrynet. (Caffe: ReadImageToCVMat, DataTransformer.)
 *
 * The channel order is blue, green, red, as in OpenCV and Caffe. Values are 0 to 255. Row 0 is the
 * top row as stored in the file; an Exif orientation is ignored.
 *
 * Errors: unless a function names other codes, FERRY_EINVAL for NULL or for a structure whose
 * struct_size is not set, FERRY_ENOMEM.
 *
 * Threads: any thread, each with its own blobs.
 */
#ifndef FERRY_IMAGE_H
#define FERRY_IMAGE_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * Reads a PNG or JPEG file, detected by its content, into a U8 or F32 blob, which gets the shape
 * channels × height × width. `channels` is 3 (gray is copied to all three), 1 (the luminance 0.299
 * R + 0.587 G + 0.114 B; of a JPEG, its stored luminance), or 0 for the file's own number. 16-bit
 * samples are reduced to their upper 8 bits, palettes are expanded, alpha is dropped, and CMYK is
 * converted to BGR.
 *
 * FERRY_EIO for an error of the system, FERRY_EFORMAT for a file that is not an image, truncated or
 * damaged, FERRY_EUNSUPPORTED for another format, for more than 2²⁸ pixels, and for a format that
 * this build lacks; FERRY_EOVERFLOW if decoding needs more than ferry_io_max_bytes: per value a
 * byte and an element of the blob, and 2 bytes per component of a progressive JPEG. The blob is
 * then as before.
 */
FERRY_API int ferry_image_read(const char *path, int channels, ferry_blob *out);

/** As ferry_image_read, for a file in memory; `name` replaces the path in messages. */
FERRY_API int ferry_image_decode(const void *bytes, size_t size, const char *name, int channels,
                                 ferry_blob *out);

/** Options of ferry_image_transform. Zero the structure, then set struct_size and the options. */
typedef struct ferry_image_transform_options {
    size_t struct_size;    /* sizeof(ferry_image_transform_options) of the caller */
    int64_t height, width; /* the size after resizing; 0: this axis keeps its size */
    bool cover;            /* keep the aspect ratio, cover that size, crop the excess evenly */
    /**
     * Subtracted: 1 value, 1 per channel, or channels × height × width of the resized image;
     * leading axes of 1 are allowed. NULL: none.
     */
    const ferry_blob *mean;
    int64_t crop_height, crop_width; /* the size of the crop after that; 0: all of this axis */
    const int64_t *crop_at;          /* the first row and column of the crop; NULL: centred */
    bool mirror;                     /* reverse each row */
    double scale;                    /* multiplies all values; finite; 0 means 1 */
    bool swap_rb;                    /* exchange the first and third channel at the end */
} ferry_image_transform_options;

/**
 * Preprocesses an image, channels × height × width of U8 or F32: resizes, subtracts the mean, crops
 * and scales, in this order. Resizing is bilinear with half-pixel centres and replicated edges, as
 * OpenCV's INTER_LINEAR; the values of a U8 image are then rounded. `out` is F32. With `item` −1 it
 * gets the shape 1 × channels × height × width. Otherwise the result replaces item `item` of axis 0
 * of `out`, whose other axes must match. `options` may be NULL.
 *
 * FERRY_ESHAPE, with both shapes, for a mean, a crop or an item that does not match; FERRY_EINVAL
 * for another dtype, an item below −1, a size below 0, a scale that is not finite, and `out` equal
 * to `image`; FERRY_EOVERFLOW for a size of 2^60 values and more. `out` is then as before.
 */
FERRY_API int ferry_image_transform(const ferry_blob *image,
                                    const ferry_image_transform_options *options, ferry_blob *out,
                                    int64_t item);

FERRY_END_DECLS

#endif
