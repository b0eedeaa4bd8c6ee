/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file image.h
 * Pictures as nets want them: PNG and JPEG files into blobs, and what is done to their values. Part of
 * libferrynet. (Caffe: ReadImageToCVMat, DataTransformer.)
 *
 * Channels are in the order of OpenCV and Caffe, blue, green, red; values are 0 to 255; rows are from
 * the top, as the file has them: a camera's note that they are to be turned (Exif) is ignored.
 *
 * Errors, where no other is named: FERRY_EINVAL for NULL or a structure without its size, FERRY_ENOMEM.
 *
 * Threads: any, each with its own blobs.
 */
#ifndef FERRY_IMAGE_H
#define FERRY_IMAGE_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * Reads a .png or .jpg, told by its content, into a U8 or F32 blob, which takes the shape channels ×
 * height × width. `channels` is 3 (a gray file's value three times), or 1 (a colour file's luminance,
 * 0.299 R + 0.587 G + 0.114 B; of a JPEG the one that it holds), or 0 for what the file has. Of 16 bits
 * the upper 8 are taken, a palette is looked up, transparency is dropped, CMYK becomes BGR.
 *
 * FERRY_EIO where the system refuses, FERRY_EFORMAT for what is no picture or is cut off or damaged,
 * FERRY_EUNSUPPORTED for another format, for more than 2^28 pixels, and for one that this ferry was
 * built without; FERRY_EOVERFLOW where decoding takes more than ferry_io_max_bytes: for each value a
 * byte and an element of the blob, and 2 bytes a component of a progressive JPEG. The blob is then
 * as before.
 */
FERRY_API int ferry_image_read(const char *path, int channels, ferry_blob *out);

/** The same of a file's bytes in memory; `name` stands for the path in messages. */
FERRY_API int ferry_image_decode(const void *bytes, size_t size, const char *name, int channels,
                                 ferry_blob *out);

/** What ferry_image_transform does. Zero the structure, then set struct_size and what is wanted. */
typedef struct ferry_image_transform_options {
    size_t struct_size;    /* sizeof(ferry_image_transform_options) of the caller */
    int64_t height, width; /* what the picture is resized to; 0: it is not */
    int cover; /* 1: resized in proportion to cover that size; the rest is cut off evenly */
    const ferry_blob
        *mean; /* subtracted: one value, one a channel, or channels × height × width of the
                               resized picture, axes of 1 before them; NULL: nothing */
    int64_t crop_height, crop_width; /* what is cropped then; 0: all */
    const int64_t *crop_at;          /* its first row and column; NULL: the middle */
    bool mirror;                     /* each row from its end */
    double scale;                    /* multiplies; 0: 1 */
    int swap_rb; /* 1: the first and the third channel change places at the end */
} ferry_image_transform_options;

/**
 * Prepares a picture, channels × height × width of U8 or F32: resizes, subtracts the mean, crops,
 * scales, in this order. Resizing is bilinear, with pixels' centres at halves and edges that go on
 * (OpenCV's INTER_LINEAR); a U8 picture's values are rounded by it. `out` is F32; with item −1 it gets
 * the shape 1 × channels × height × width, else the result goes into that item of it, which must have
 * room for just that. `options` may be NULL.
 *
 * FERRY_ESHAPE, with both shapes, for a mean, a crop or an item that does not fit; FERRY_EINVAL for
 * another dtype. `out` is then as before.
 */
FERRY_API int ferry_image_transform(const ferry_blob *image,
                                    const ferry_image_transform_options *options, ferry_blob *out,
                                    int64_t item);

FERRY_END_DECLS

#endif
