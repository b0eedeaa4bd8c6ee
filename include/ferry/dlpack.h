/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dlpack.h
 * DLPack: memory shared with NumPy, PyTorch and others, without a copy. Part of libferryio.
 *
 * Callers include <dlpack/dlpack.h> for the structures: DLManagedTensor of DLPack before 1.0, and
 * DLManagedTensorVersioned since.
 *
 * Threads: any, each with its own blobs.
 */
#ifndef FERRY_DLPACK_H
#define FERRY_DLPACK_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** With to_dlpack_versioned: the client only reads, and the copy there is not the only valid one. */
#define FERRY_DLPACK_READ_ONLY 4u
/** With to_dlpack_versioned: a copy of the values, the client's alone. */
#define FERRY_DLPACK_COPY 8u

/**
 * A tensor over the blob's own data, or with FERRY_COPY_DIFF its diff: on the host where `where` is
 * NULL, otherwise on `where`, the blob's home: a CUDA device (a device pointer), an OpenCL device (a
 * cl_mem and an offset) or a host-memory device (host memory again).
 *
 * It counts as a write there: that copy becomes the only valid one, the calling thread has waited
 * for all work on it, and what the client writes is what ferry then reads. The tensor keeps the
 * memory alive whatever becomes of the blob; its owner calls its deleter once. The client sees the
 * blob's changes until ferry writes elsewhere, or the blob grows or adopts. Of count 0, data is
 * NULL. FERRY_EINVAL, FERRY_EUNSUPPORTED for a device that DLPack has no name for, and the errors
 * of access.
 */
FERRY_API int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                                   struct DLManagedTensor **out);

/**
 * A blob over a tensor's memory, with `home`: host memory for any home; CUDA and OpenCL memory where
 * `home` is that device. From success on ferry owns the tensor and calls its deleter once, when it
 * lets go of the memory; on failure it is still the caller's. The blob may write there. Strides have
 * to be those of a contiguous row-major array, else FERRY_EUNSUPPORTED, as for lanes and element
 * types that ferry does not have. The caller destroys the blob.
 */
FERRY_API int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor,
                                     ferry_blob **out);

/**
 * The same as a tensor of DLPack 1.0. With FERRY_DLPACK_READ_ONLY it counts as a read, and the
 * tensor's READ_ONLY flag says so; with FERRY_DLPACK_COPY the values are copied first, on the blob's
 * home, the blob is only read, and the flag is IS_COPIED.
 */
FERRY_API int ferry_blob_to_dlpack_versioned(ferry_blob *b, ferry_device *where, unsigned flags,
                                             struct DLManagedTensorVersioned **out);

/**
 * The same of a tensor of DLPack 1.x; FERRY_EUNSUPPORTED for another major, of which no member but
 * the version is looked at. One with the READ_ONLY flag is adopted with FERRY_ADOPT_READONLY.
 */
FERRY_API int ferry_blob_from_dlpack_versioned(ferry_device *home,
                                               struct DLManagedTensorVersioned *tensor,
                                               ferry_blob **out);

FERRY_END_DECLS

#endif
