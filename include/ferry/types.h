/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file types.h
 * Definitions that every other header needs: linkage, references to device memory, element types.
 *
 * The plugin ABI shares these definitions, so they are frozen for an ABI major: fixed-width
 * members, no C enum in any structure, no structure that may grow.
 */
#ifndef FERRY_TYPES_H
#define FERRY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define FERRY_BEGIN_DECLS extern "C" {
#define FERRY_END_DECLS   }
#else
#define FERRY_BEGIN_DECLS
#define FERRY_END_DECLS
#endif

#if defined(__GNUC__)
#define FERRY_API                __attribute__((visibility("default")))
#define FERRY_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define FERRY_API
#define FERRY_PRINTF(fmt, first)
#endif

FERRY_BEGIN_DECLS

/**
 * A place in a device's memory: the handle that the device's allocator returned, and a byte offset.
 *
 * On CUDA and on host-memory devices `handle` is a pointer of that device; on OpenCL it is a
 * cl_mem, on which no arithmetic is possible. ferry adds to offsets, never to handles. A NULL
 * handle is the null reference: a function that failed returns it, and an operation that gets one
 * returns the code of this thread's latest failure. The value owns nothing; it is valid as long as
 * the accessor that returned it specifies.
 */
typedef struct ferry_ref {
    void *handle;
    uint64_t offset; /* bytes */
} ferry_ref;

/** A reference to memory that is only read. */
typedef struct ferry_cref {
    const void *handle;
    uint64_t offset; /* bytes */
} ferry_cref;

/** The read-only view of a reference. Cannot fail; any thread. */
static inline ferry_cref ferry_ref_const(ferry_ref ref)
{
    ferry_cref out;

    out.handle = ref.handle;
    out.offset = ref.offset;
    return out;
}

/** The place `bytes` further on; the null reference stays null. Cannot fail; any thread. */
static inline ferry_ref ferry_ref_advance(ferry_ref ref, uint64_t bytes)
{
    ref.offset += ref.handle ? bytes : 0;
    return ref;
}

/** As ferry_ref_advance, for memory that is only read. */
static inline ferry_cref ferry_cref_advance(ferry_cref ref, uint64_t bytes)
{
    ref.offset += ref.handle ? bytes : 0;
    return ref;
}

/**
 * Element types. Values are part of the plugin ABI (entries take them as uint32_t) and never
 * change.
 *
 * Arithmetic is offered on F32 by every device, on F64, F16 and BF16 where the plugin can and by
 * ferry's own fallback elsewhere (F16 and BF16 accumulate in F32). Integers are storage: arithmetic
 * on them is FERRY_EUNSUPPORTED. F16 is IEEE 754 binary16, BF16 the upper half of a binary32;
 * rounding to both is to nearest, ties to even.
 */
typedef enum ferry_dtype {
    FERRY_F32 = 0,
    FERRY_F64 = 1,
    FERRY_F16 = 2,
    FERRY_BF16 = 3,
    FERRY_I8 = 4,
    FERRY_U8 = 5,
    FERRY_I32 = 6,
    FERRY_I64 = 7,
    FERRY_U32 = 8
} ferry_dtype;

/** How many element types there are; values run from 0 to this less one. */
#define FERRY_DTYPE_COUNT 9

/**
 * Access modes, also of map in the plugin ABI. READ|WRITE: mutable; WRITE alone: overwrite, old
 * bytes are not copied.
 */
#define FERRY_READ  1u
#define FERRY_WRITE 2u
/** With an access: return FERRY_EBUSY rather than wait for pending work. */
#define FERRY_NOWAIT 4u

/** Whether gemv and gemm use a matrix as stored or transposed. The values are CBLAS's. */
#define FERRY_NO_TRANS 111
#define FERRY_TRANS    112

FERRY_END_DECLS

#endif
