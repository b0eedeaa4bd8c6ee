/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dlpack.h
 * DLPack: exchange of arrays with NumPy, PyTorch and others without a copy. Part of libferryio.
 *
 * Include <dlpack/dlpack.h> for the structures: DLManagedTensor of DLPack before 1.0, and
 * DLManagedTensorVersioned from 1.0 on.
 *
 * Threads: any thread, each with its own blobs.
 */
#ifndef FERRY_DLPACK_H
#define FERRY_DLPACK_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** Flag of ferry_blob_to_dlpack_versioned: the consumer only reads, and other copies stay valid. */
#define FERRY_DLPACK_READ_ONLY 4u
/** Flag of ferry_blob_to_dlpack_versioned: the tensor is a copy that only the consumer uses. */
#define FERRY_DLPACK_COPY 8u

/**
 * Exports the blob's data, or with FERRY_COPY_DIFF its diff, as a tensor. With `where` NULL the
 * tensor is on the host. Otherwise `where` is the blob's home: a CUDA device (a device pointer), an
 * OpenCL device (a cl_mem and an offset) or a host-memory device (host memory).
 *
 * The export counts as a write at that place: only that copy stays valid, the calling thread has
 * waited for all work on it, and ferry later reads the consumer's writes. The consumer sees changes
 * of the blob until ferry writes to another copy, or the blob grows or adopts. The tensor keeps the
 * memory alive after the blob is destroyed; its owner calls its deleter once. The data pointer of a
 * blob of count 0 is NULL. FERRY_EINVAL, FERRY_EUNSUPPORTED for a device without a DLPack device
 * type, and the errors of ferry_blob_access; *out is then unchanged.
 */
FERRY_API int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                                   struct DLManagedTensor **out);

/**
 * Imports a tensor's memory as a blob with home `home`. Host memory works with every home; CUDA and
 * OpenCL memory requires that device as the home. The blob may write to the memory. The caller
 * destroys the blob.
 *
 * On success ferry owns the tensor and calls its deleter once, when ferry releases the memory; on
 * failure the caller still owns it. The strides must be those of a contiguous row-major array,
 * lanes must be 1, the element type must have a ferry_dtype, and the values must be aligned to
 * their size or to that of a pointer; FERRY_EUNSUPPORTED otherwise. FERRY_EINVAL for a byte_offset
 * beyond the addresses.
 */
FERRY_API int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor,
                                     ferry_blob **out);

/**
 * As ferry_blob_to_dlpack, for a tensor of DLPack 1.0. With FERRY_DLPACK_READ_ONLY the export
 * counts as a read, and the tensor has the flag READ_ONLY. With FERRY_DLPACK_COPY the values are
 * copied on the blob's home, the blob is only read, and the tensor has the flag IS_COPIED.
 */
FERRY_API int ferry_blob_to_dlpack_versioned(ferry_blob *b, ferry_device *where, unsigned flags,
                                             struct DLManagedTensorVersioned **out);

/**
 * As ferry_blob_from_dlpack, for a tensor of DLPack 1.x. FERRY_EUNSUPPORTED for another major
 * version; ferry then reads only the version member. A tensor with the flag READ_ONLY is adopted
 * with FERRY_ADOPT_READONLY.
 */
FERRY_API int ferry_blob_from_dlpack_versioned(ferry_device *home,
                                               struct DLManagedTensorVersioned *tensor,
                                               ferry_blob **out);

FERRY_END_DECLS

#endif
