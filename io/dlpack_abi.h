/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DLPack's structures and numbers, as its specification lays them out. They are an interface between
 * binaries: what is here is what any <dlpack/dlpack.h> has, whichever of them is installed, if any.
 * Our own names but for the two tags, which io.h names too.
 */
#ifndef FERRY_IO_DLPACK_ABI_H
#define FERRY_IO_DLPACK_ABI_H

#include <stdint.h>

/* The version that ferry writes; it reads any of the same major. */
#define DL_MAJOR 1u
#define DL_MINOR 0u

/* Kinds of devices. */
#define DL_CPU       1
#define DL_CUDA      2
#define DL_CUDA_HOST 3 /* pinned: host memory */
#define DL_OPENCL    4

/* Kinds of elements. */
#define DL_INT    0u
#define DL_UINT   1u
#define DL_FLOAT  2u
#define DL_BFLOAT 4u

/* Flags of a versioned tensor. */
#define DL_READ_ONLY (UINT64_C(1) << 0)
#define DL_IS_COPIED (UINT64_C(1) << 1)

struct dl_device {
    int32_t device_type; /* an enum of C's in the specification, of int's size everywhere */
    int32_t device_id;
};

struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: contiguous, row-major */
    uint64_t byte_offset;
};

/* Of before 1.0: what it is has to be known beforehand. */
struct DLManagedTensor {
    struct dl_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

struct dl_version {
    uint32_t major, minor;
};

/* Since 1.0. Of another major only `version`, `manager_ctx` and `deleter` are where they are here. */
struct DLManagedTensorVersioned {
    struct dl_version version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor dl_tensor;
};

#endif
