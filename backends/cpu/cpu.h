/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU plugin's device, and its entries by file. <ferry/plugin.h> specifies the entries.
 */
#ifndef FERRY_CPU_CPU_H
#define FERRY_CPU_CPU_H

#include <ferry/plugin.h>
#include <ferry/profile_plugin.h>

#include "kernels.h"
#include "workers.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The plugin's counters; each word is independent, and read without a lock. */
struct cpu_counts {
    _Atomic uint64_t live_blocks, live_bytes;
    _Atomic uint64_t copies[3], bytes[3]; /* indexed by kind, minus one */
    _Atomic uint64_t memsets, ops;
};

struct cpu_device {
    const struct cpu_kernels *kernels;
    const struct cpu_isa *isa; /* the instruction set of prepared operations */
    struct workers *workers;
    uint64_t max_alloc;
    struct cpu_counts counts;
    _Atomic uint32_t next_place; /* the offset in its page of the next block that has several
                                  * pages */
};

/* ferry's services; set before any entry is called. */
extern const ferry_host *cpu_host;

/* The pointer of a reference: a handle is a host pointer. */
static inline void *cpu_pointer(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset;
}

static inline const void *cpu_const_pointer(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset;
}

static inline void cpu_count(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/*
 * Counts an operation. One that runs on another thread at the same time may be missed: an atomic
 * increment would cost as much as 120 elements.
 */
static inline void cpu_count_op(struct cpu_device *d)
{
    uint64_t ops = atomic_load_explicit(&d->counts.ops, memory_order_relaxed);

    atomic_store_explicit(&d->counts.ops, ops + 1, memory_order_relaxed);
}

/* Whether arithmetic supports the dtype. */
static inline bool cpu_is_real(uint32_t dtype)
{
    return dtype <= FERRY_BF16;
}

/* Bytes of an element; 0 for an invalid dtype. */
static inline int64_t cpu_dtype_size(uint32_t dtype)
{
    static const uint8_t size[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };

    return dtype < FERRY_DTYPE_COUNT ? size[dtype] : 0;
}

/* Reports FERRY_EUNSUPPORTED: `what` is the operation. */
int cpu_unsupported(const char *what, uint32_t dtype);

/* in memory.c */
int cpu_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags);
int cpu_free(void *dev, void *queue, void *handle);
int cpu_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes);
int cpu_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
/* Copies bytes that do not overlap, on all threads if there are many. */
void cpu_copy_bytes(struct cpu_device *d, void *dst, const void *src, int64_t bytes);

/* in blas1.c */
int cpu_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y);
int cpu_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
int cpu_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
int cpu_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result);
int cpu_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int cpu_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);

/* in convert.c */
int cpu_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
int cpu_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x, uint32_t y_dtype,
                ferry_ref y);

/* Converts contiguous elements between different dtypes, on this thread. */
void cpu_convert_some(const struct cpu_device *d, int64_t n, uint32_t x_dtype, const void *x,
                      uint32_t y_dtype, void *y);

/* in gemm.c */
int cpu_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy);
int cpu_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
             int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc);

/* in profile.c */
extern const ferry_profile_table cpu_profile;

/* in op/table.c */
int cpu_extension(void *dev, const char *name, const void **out_table);
/* Whether this build has the products of option.isa = amx. */
bool cpu_has_amx(void);

#endif
