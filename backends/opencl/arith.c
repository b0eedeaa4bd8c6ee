/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic entries: they resolve the operands and choose between CLBlast's kernels and
 * ferry's own.
 */
#include "opencl.h"

#include <inttypes.h>
#include <string.h>

/* ---- choice of the implementation ---- */

int ocl_supports(void *device, uint32_t op, uint32_t dtype)
{
    const struct ocl_device *dev = device;

    if (op >= FERRY_OP_COUNT || dtype >= FERRY_DTYPE_COUNT)
        return 0;
    if (op == FERRY_OP_COPY || op == FERRY_OP_FILL)
        return 1;
    if (dtype == FERRY_F64)
        return dev->fp64;
    if (op == FERRY_OP_CONVERT)
        return 1;
    return dtype == FERRY_F32 || dtype == FERRY_BF16 || (dtype == FERRY_F16 && dev->f16);
}

/*
 * Whether CLBlast computes the operation. CLBlast lacks BF16, accumulates F16 in F16, and its sums
 * of long vectors have errors above 1e-6; ferry's own kernels compute these unless the option
 * selects CLBlast. An operation that CLBlast failed at is not tried there again.
 */
static bool by_clblast(struct ocl_device *dev, uint32_t op, uint32_t dtype)
{
    bool can = dtype == FERRY_F32 || dtype == FERRY_F64;
    bool sums = op == FERRY_OP_DOT || op == FERRY_OP_ASUM || op == FERRY_OP_SUMSQ;

    uint32_t routine = op == FERRY_OP_SUMSQ ? FERRY_OP_DOT : op;
    unsigned bit = 1u << (routine + (dtype == FERRY_F64 ? 16 : 0));

    return can && dev->set.arithmetic != OCL_OWN && (dev->set.arithmetic == OCL_CLBLAST || !sums) &&
           !(atomic_load_explicit(&dev->without_clblast, memory_order_relaxed) & bit);
}

/* Whether the elements' indices fit into CLBlast's ints. */
static bool fits(uint64_t first, uint64_t extent)
{
    return first <= INT32_MAX && extent <= (uint64_t)INT32_MAX - first;
}

/* ---- operands ---- */

static int begin(struct ocl_device *dev, uint32_t op, uint32_t dtype, int64_t n)
{
    if (!ocl_supports(dev, op, dtype))
        return FERRY_EUNSUPPORTED;
    if (n <= 0)
        return ocl_host->error(FERRY_EINVAL, "%" PRId64 " elements", n);
    ocl_lock(dev);
    dev->counters.ops++;
    ocl_unlock(dev);
    return 0;
}

/* The buffer and first element of a reference to `extent` elements. */
static int locate(const char *name, uint32_t dtype, const void *handle, uint64_t offset,
                  uint64_t extent, cl_mem *out_mem, uint64_t *out_first)
{
    uint64_t size = ocl_element_size(dtype);
    int err = ocl_range_check(name, handle, offset, extent * size);

    if (!err && offset % size)
        err = ocl_host->error(FERRY_EINVAL, "%s: byte %" PRIu64 " is not a multiple of %" PRIu64,
                              name, offset, size);
    if (err)
        return err;
    *out_mem = (cl_mem)(uintptr_t)handle;
    *out_first = offset / size;
    return 0;
}

static int vector(const char *name, uint32_t dtype, ferry_cref ref, int64_t n, int64_t inc,
                  struct ocl_vector *out)
{
    uint64_t step = (uint64_t)(inc < 0 ? -inc : inc);

    out->inc = inc;
    return locate(name, dtype, ref.handle, ref.offset, (uint64_t)(n - 1) * step + 1, &out->mem,
                  &out->first);
}

static int matrix(const char *name, uint32_t dtype, ferry_cref ref, int64_t rows, int64_t columns,
                  int64_t ld, bool trans, struct ocl_matrix *out)
{
    out->ld = ld;
    out->trans = trans;
    return locate(name, dtype, ref.handle, ref.offset, (uint64_t)((rows - 1) * ld + columns),
                  &out->mem, &out->first);
}

/* ---- vectors ---- */

int ocl_axpy(void *device, void *handle, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_vector vx, vy;
    int err = begin(dev, FERRY_OP_AXPY, dtype, n);

    if (!err)
        err = vector("x", dtype, x, n, 1, &vx);
    if (!err)
        err = vector("y", dtype, ferry_ref_const(y), n, 1, &vy);
    if (err || alpha == 0) /* with alpha 0, x is not read */
        return err;
    if (by_clblast(dev, FERRY_OP_AXPY, dtype) && fits(vx.first, (uint64_t)n) &&
        fits(vy.first, (uint64_t)n))
        err = ocl_blas_axpy(queue, dtype, n, alpha, vx, vy);
    else
        err = FERRY_EUNSUPPORTED;
    if (err != FERRY_EUNSUPPORTED)
        return err;
    return ocl_own_vector(queue, OCL_K_AXPY, dtype, n, alpha, vx, vy);
}

int ocl_scal(void *device, void *handle, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_vector vx;
    int err = begin(dev, FERRY_OP_SCAL, dtype, n);

    if (!err)
        err = vector("x", dtype, ferry_ref_const(x), n, 1, &vx);
    if (err)
        return err;
    if (by_clblast(dev, FERRY_OP_SCAL, dtype) && fits(vx.first, (uint64_t)n))
        err = ocl_blas_scal(queue, dtype, n, alpha, vx);
    else
        err = FERRY_EUNSUPPORTED;
    if (err != FERRY_EUNSUPPORTED)
        return err;
    return ocl_own_vector(queue, OCL_K_SCAL, dtype, n, alpha, vx, vx);
}

int ocl_supports_convert(void *device, uint32_t x_dtype, uint32_t y_dtype)
{
    return ocl_supports(device, FERRY_OP_CONVERT, x_dtype) &&
           ocl_supports(device, FERRY_OP_CONVERT, y_dtype);
}

int ocl_convert(void *device, void *handle, int64_t n, uint32_t x_dtype, ferry_cref x,
                uint32_t y_dtype, ferry_ref y)
{
    struct ocl_device *dev = device;
    struct ocl_vector vx, vy;
    int err;

    if (!ocl_supports(dev, FERRY_OP_CONVERT, y_dtype))
        return FERRY_EUNSUPPORTED;
    err = begin(dev, FERRY_OP_CONVERT, x_dtype, n);
    if (!err)
        err = vector("x", x_dtype, x, n, 1, &vx);
    if (!err)
        err = vector("y", y_dtype, ferry_ref_const(y), n, 1, &vy);
    return err ? err : ocl_own_convert(ocl_queue_of(dev, handle), x_dtype, y_dtype, n, vx, vy);
}

/* ---- reductions ---- */

static int reduce(struct ocl_device *dev, void *handle, uint32_t op, enum ocl_kernel k,
                  uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y, ferry_ref result)
{
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    uint32_t result_dtype = dtype == FERRY_F64 ? FERRY_F64 : FERRY_F32;
    struct ocl_vector vx, vy, vr;
    int err = begin(dev, op, dtype, n);

    if (!err)
        err = vector("x", dtype, x, n, 1, &vx);
    if (!err)
        err = vector("y", dtype, y, n, 1, &vy);
    if (!err)
        err = vector("result", result_dtype, ferry_ref_const(result), 1, 1, &vr);
    if (err)
        return err;
    if (by_clblast(dev, op, dtype) && fits(vx.first, (uint64_t)n) && fits(vy.first, (uint64_t)n) &&
        fits(vr.first, 1))
        err = ocl_blas_reduce(queue, k, dtype, n, vx, vy, vr);
    else
        err = FERRY_EUNSUPPORTED;
    if (err != FERRY_EUNSUPPORTED)
        return err;
    return ocl_own_reduce(queue, k, dtype, n, vx, vy, vr);
}

int ocl_dot(void *device, void *handle, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result)
{
    return reduce(device, handle, FERRY_OP_DOT, OCL_K_DOT, dtype, n, x, y, result);
}

int ocl_asum(void *device, void *handle, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(device, handle, FERRY_OP_ASUM, OCL_K_ASUM, dtype, n, x, x, result);
}

int ocl_sumsq(void *device, void *handle, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(device, handle, FERRY_OP_SUMSQ, OCL_K_SUMSQ, dtype, n, x, x, result);
}

/* ---- products ---- */

/* The number of stored elements from a matrix's first to its last; the sizes are those of op(A). */
static uint64_t extent(const struct ocl_matrix *a, int64_t rows, int64_t columns)
{
    int64_t stored_rows = a->trans ? columns : rows;

    return (uint64_t)stored_rows * (uint64_t)a->ld;
}

/* Moves the start of a vector with a negative increment to its far end, as BLAS defines it. */
static void turn(struct ocl_vector *v, int64_t n)
{
    if (v->inc < 0)
        v->first += (uint64_t)(n - 1) * (uint64_t)-v->inc;
}

/* Whether CLBlast can compute this gemv; alpha is not 0. */
static bool gemv_fits(struct ocl_device *dev, const struct ocl_product *p)
{
    int64_t nx = p->a.trans ? p->m : p->n, ny = p->a.trans ? p->n : p->m;

    return by_clblast(dev, FERRY_OP_GEMV, p->dtype) && p->alpha != 0 && p->x.inc > 0 &&
           p->y.inc > 0 && (p->beta != 0 || p->y.inc == 1) &&
           fits(p->a.first, extent(&p->a, ny, nx)) &&
           fits(p->x.first, (uint64_t)nx * (uint64_t)p->x.inc) &&
           fits(p->y.first, (uint64_t)ny * (uint64_t)p->y.inc);
}

int ocl_gemv(void *device, void *handle, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    bool t = trans == FERRY_TRANS;
    int64_t nx = t ? m : n, ny = t ? n : m;
    struct ocl_product p = { .dtype = dtype, .m = m, .n = n, .alpha = alpha, .beta = beta };
    int err = begin(dev, FERRY_OP_GEMV, dtype, m < n ? m : n);

    if (!err)
        err = matrix("A", dtype, a, m, n, lda, t, &p.a);
    if (!err)
        err = vector("x", dtype, x, nx, incx, &p.x);
    if (!err)
        err = vector("y", dtype, ferry_ref_const(y), ny, incy, &p.y);
    if (err)
        return err;
    if (gemv_fits(dev, &p)) {
        if (beta == 0) /* CLBlast reads y even with beta 0 */
            err = ocl_memset(dev, handle, y, 0, (uint64_t)ny * ocl_element_size(dtype));
        if (!err)
            err = ocl_blas_gemv(queue, &p);
        if (err != FERRY_EUNSUPPORTED)
            return err;
    }
    turn(&p.x, nx);
    turn(&p.y, ny);
    return ocl_own_gemv(queue, &p);
}

static bool gemm_fits(struct ocl_device *dev, const struct ocl_product *p)
{
    return by_clblast(dev, FERRY_OP_GEMM, p->dtype) && p->k > 0 &&
           fits(p->a.first, extent(&p->a, p->m, p->k)) &&
           fits(p->b.first, extent(&p->b, p->k, p->n)) &&
           fits(p->c.first, extent(&p->c, p->m, p->n));
}

int ocl_gemm(void *device, void *handle, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
             int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    bool ta = trans_a == FERRY_TRANS, tb = trans_b == FERRY_TRANS;
    struct ocl_product p = { .dtype = dtype, .m = m, .n = n, .alpha = alpha, .beta = beta };
    int err = begin(dev, FERRY_OP_GEMM, dtype, m < n ? m : n);

    p.k = alpha == 0 ? 0 : k; /* with alpha 0, A and B are not read */
    if (!err)
        err = matrix("C", dtype, ferry_ref_const(c), m, n, ldc, false, &p.c);
    p.a = p.b = p.c;
    if (!err && p.k > 0)
        err = matrix("A", dtype, a, ta ? k : m, ta ? m : k, lda, ta, &p.a);
    if (!err && p.k > 0)
        err = matrix("B", dtype, b, tb ? n : k, tb ? k : n, ldb, tb, &p.b);
    if (err)
        return err;
    err = gemm_fits(dev, &p) ? ocl_blas_gemm(queue, &p) : FERRY_EUNSUPPORTED;
    return err == FERRY_EUNSUPPORTED ? ocl_own_gemm(queue, &p) : err;
}
