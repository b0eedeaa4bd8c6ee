/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DLPack's structures and constants, laid out as in its specification. They are an interface
 * between binaries: every <dlpack/dlpack.h> has the same layout, so ferry does not need the header.
 * The names are ferry's own except for the two tags that io.h also uses.
 */
#ifndef FERRY_IO_DLPACK_ABI_H
#define FERRY_IO_DLPACK_ABI_H

#include <stdint.h>

/* The version that ferry writes; ferry reads any version with the same major number. */
#define DL_MAJOR 1u
#define DL_MINOR 0u

/* Kinds of devices. */
#define DL_CPU       1
#define DL_CUDA      2
#define DL_CUDA_HOST 3 /* pinned host memory */
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
    int32_t device_type; /* an enum in the specification, with the size of an int everywhere */
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

/* The structure from before version 1.0. A consumer must know that it gets this one. */
struct DLManagedTensor {
    struct dl_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

struct dl_version {
    uint32_t major, minor;
};

/*
 * Since version 1.0. Under another major version only `version`, `manager_ctx` and `deleter` are at
 * these offsets.
 */
struct DLManagedTensorVersioned {
    struct dl_version version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor dl_tensor;
};

#endif
