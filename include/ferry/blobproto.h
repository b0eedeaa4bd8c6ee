/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file blobproto.h
 * One BlobProto, as bytes. Part of libferryio. (Caffe: FromProto, ToProto, ShapeEquals.)
 *
 * Threads: any, each with its own blobs.
 */
#ifndef FERRY_BLOBPROTO_H
#define FERRY_BLOBPROTO_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * Fills a blob from a serialised BlobProto of `size` bytes: data, and diff if there is one.
 *
 * With `reshape` the blob takes the message's shape; without, it must have it already, as
 * ferry_blob_shape_equals_proto decides, else FERRY_ESHAPE. If one of num, channels, height, width
 * is there, the shape is these four and `shape` is ignored; with no shape at all it is a scalar.
 * Double values win over floats. NVCaffe's and the OpenCL branch's fields are understood. Values
 * are converted to the blob's dtype. FERRY_EFORMAT for bytes that are no BlobProto; FERRY_ESHAPE
 * where the number of values is not the count; the blob is then as before.
 */
FERRY_API int ferry_blob_from_proto(ferry_blob *b, const void *bytes, size_t size, bool reshape);

/**
 * Serialises a blob, data and with `write_diff` diff, into `buf`; *out_size is the length. With a
 * NULL buf only that is found out. F32 goes to data and diff, F64 to double_data and double_diff,
 * F16 to NVCaffe's raw fields; other dtypes are FERRY_EUNSUPPORTED. Values never written are zeros;
 * a scalar has no shape; a blob without a shape is written as one axis of 0. FERRY_EOVERFLOW if
 * `capacity` is too small.
 */
FERRY_API int ferry_blob_to_proto(const ferry_blob *b, bool write_diff, void *buf, size_t capacity,
                                  size_t *out_size);

/**
 * 1 if the blob has the shape of the serialised BlobProto, 0 if not. A legacy shape is compared
 * from the last axis backwards, missing axes being 1. FERRY_EFORMAT, FERRY_EINVAL.
 */
FERRY_API int ferry_blob_shape_equals_proto(const ferry_blob *b, const void *bytes, size_t size);

FERRY_END_DECLS

#endif
