/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by math.c, reduce.c and matrix.c: checking a call, whether the plugin offers the
 * operation, and the fallback on the host if it does not.
 */
#ifndef FERRY_CORE_MATHCALL_H
#define FERRY_CORE_MATHCALL_H

#include "core/device/queue.h"

#include <ferry/math.h>

/* The maximum number of elements in one call of a BLAS-1 entry. */
#define FERRY__MATH_SPLIT (INT64_C(1) << 30)

/* Elements that a fallback holds on the host at a time. */
#define FERRY__MATH_TILE (INT64_C(1) << 22)

/* The maximum number of operands of an operation. */
#define FERRY__OPERANDS 3

/* One operand of a fallback: its address, its length, and the directions in which it is copied. */
struct ferry__operand {
    ferry_ref ref;
    uint64_t bytes;
    bool in, out;
    void *host; /* filled in by ferry__math_detour */
};

/* Checks queue, size and dtype of a call; `floating`: integers are refused. Records the error. */
int ferry__math_check(ferry_queue *q, const char *name, ferry_dtype dtype, int64_t n,
                      bool floating);

/* The reference `bytes` bytes after `ref`. */
ferry_ref ferry__ref_plus(ferry_ref ref, uint64_t bytes);
ferry_cref ferry__cref_plus(ferry_cref ref, uint64_t bytes);
/* An operand of a fallback as a ferry_ref, whatever the direction of its copy. */
ferry_ref ferry__ref_of(ferry_cref ref);

/* Whether the plugin may offer `op` on `dtype`: false if it has refused it before. */
bool ferry__math_offered(ferry_device *dev, uint32_t op, ferry_dtype dtype);
/* Whether the plugin is known to offer the operation, and the device may be used. */
static inline bool ferry__math_ready(ferry_device *dev, uint32_t op, ferry_dtype dtype)
{
    uint32_t known, asked = UINT32_C(1) << ((unsigned)dtype & 15) << 16;

    if ((unsigned)dtype >= FERRY_DTYPE_COUNT || !ferry__device_ready(dev))
        return false;
    known = atomic_load_explicit(&dev->refused[op], memory_order_relaxed);
    return (known & asked) && !(known & asked >> 16);
}

/*
 * Whether the device's kernels support the offset of a reference. If some offsets are unsupported,
 * no operation is recorded as known above, since the direct calls do not check offsets.
 */
static inline bool ferry__math_reaches(const ferry_device *dev, ferry_cref ref)
{
    return ref.offset % dev->offset_alignment == 0;
}

/*
 * Direct calls of the plugin's entry: for a ready device, and 0 < n <= FERRY__MATH_SPLIT.
 */
static inline int ferry__math_axpy_now(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                                       ferry_cref x, ferry_ref y)
{
    ferry_device *dev = q->device;
    int err;

    ferry__queue_enter(q);
    err = dev->ops->axpy(dev->dev, q->handle, dtype, n, alpha, x, y);
    ferry__queue_leave(q);
    return err;
}

static inline int ferry__math_scal_now(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                                       ferry_ref x)
{
    ferry_device *dev = q->device;
    int err;

    ferry__queue_enter(q);
    err = dev->ops->scal(dev->dev, q->handle, dtype, n, alpha, x);
    ferry__queue_leave(q);
    return err;
}

/* Completes ferry_math_axpy or ferry_math_scal after the entry returned an error. */
int ferry__math_axpy_refused(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                             ferry_cref x, ferry_ref y, int answer);
int ferry__math_scal_refused(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                             ferry_ref x, int answer);

/* Records that the plugin does not offer the operation, so that it is not called again. */
void ferry__math_refuse(ferry_device *dev, uint32_t op, ferry_dtype dtype);

/*
 * Whether to call an entry again: it failed for lack of memory, and memory was freed. Cached
 * blocks are freed and idle memories evicted, unless the program has reserved the queue.
 */
bool ferry__math_again(ferry_queue *q, int answer);

/* Records an entry's result as this thread's error. */
int ferry__math_fail(ferry_device *dev, const char *name, ferry_dtype dtype, int64_t n, int code);

/*
 * Copies the operands to the host, computes there, and copies outputs back; blocks until done.
 * Counted as a fallback, an error under strict. compute returns 0 or a code.
 */
int ferry__math_detour(ferry_queue *q, const char *name, ferry_dtype dtype,
                       struct ferry__operand *operands, unsigned count,
                       int (*compute)(const void *arg, struct ferry__operand *operands),
                       const void *arg);

#endif
