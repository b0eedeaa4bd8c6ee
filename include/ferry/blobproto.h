/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file blobproto.h
 * Conversion between a blob and a serialised BlobProto. Part of libferryio. (Caffe: FromProto,
 * ToProto, ShapeEquals.)
 *
 * Threads: any thread, each with its own blobs.
 */
#ifndef FERRY_BLOBPROTO_H
#define FERRY_BLOBPROTO_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * Reads a serialised BlobProto of `size` bytes into a blob: data, and diff if the message has one.
 * Values are converted to the blob's dtype. [FromProto]
 *
 * With `reshape` the blob gets the message's shape. Without it the blob must already have that
 * shape, as ferry_blob_shape_equals_proto compares; FERRY_ESHAPE otherwise. If num, channels,
 * height or width is set, these four are the shape and `shape` is ignored; without any of them the
 * message is a scalar. double_data has precedence over data. The fields of NVCaffe and of the
 * OpenCL branch are supported.
 *
 * FERRY_EFORMAT for bytes that are not a BlobProto; FERRY_ESHAPE if the number of values does not
 * match the shape. The blob is then as before.
 */
FERRY_API int ferry_blob_from_proto(ferry_blob *b, const void *bytes, size_t size, bool reshape);

/**
 * Serialises a blob into `buf`: data, and with `write_diff` diff. *out_size is the length; with a
 * NULL buf only the length is computed. F32 is written to data and diff, F64 to double_data and
 * double_diff, F16 to NVCaffe's raw fields; other dtypes are FERRY_EUNSUPPORTED. Data that was
 * never written is zeros. A scalar has no shape; a blob without a shape has one axis of 0.
 * FERRY_EOVERFLOW if `capacity` is too small. [ToProto]
 */
FERRY_API int ferry_blob_to_proto(const ferry_blob *b, bool write_diff, void *buf, size_t capacity,
                                  size_t *out_size);

/**
 * 1 if the blob has the shape of the serialised BlobProto, 0 if not, or FERRY_EFORMAT or
 * FERRY_EINVAL. A legacy shape is compared from the last axis backwards; missing axes count as 1.
 * [ShapeEquals]
 */
FERRY_API int ferry_blob_shape_equals_proto(const ferry_blob *b, const void *bytes, size_t size);

FERRY_END_DECLS

#endif
