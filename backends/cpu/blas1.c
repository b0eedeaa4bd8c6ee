/* SPDX-License-Identifier: BSD-2-Clause */
#include "cpu.h"

#include <string.h>

/*
 * The BLAS-1 entries use loops of the plugin instead of OpenBLAS. OpenBLAS accumulates single
 * precision in F32, which is not accurate enough; its calls take longer than 120 elements; and with
 * several threads it reaches half of the memory bandwidth.
 */

/*
 * The number of F16 or BF16 elements that are widened at a time: three such blocks fit into the
 * first-level cache.
 */
#define HALF_BLOCK 1024

/* The number of elements, of any dtype, below which a loop is not divided. */
#define SMALL_LOOP 16384

typedef double (*sum_fn)(int64_t n, const void *x, const void *y);

/* A loop over x and y that can be divided into pieces. */
struct call {
    const struct cpu_kernels *kernels;
    const sum_fn *sum; /* the kernels for F32 and F64 */
    uint32_t dtype;
    double alpha;
    int64_t size; /* the size of an element */
    const char *x;
    char *y;
    double *sums; /* one for each piece */
};

static int64_t block_size(int64_t left)
{
    return left < HALF_BLOCK ? left : HALF_BLOCK;
}

static bool is_half(uint32_t dtype)
{
    return dtype == FERRY_F16 || dtype == FERRY_BF16;
}

/* ---- axpy, scal ----------------------------------------------------------------------------- */

static void axpy_half(const struct cpu_kernels *k, uint32_t dtype, int64_t n, double alpha,
                      const uint16_t *x, uint16_t *y)
{
    float xs[HALF_BLOCK], ys[HALF_BLOCK];

    for (int64_t at = 0; at < n; at += HALF_BLOCK) {
        int64_t count = block_size(n - at);

        k->widen[dtype](count, x + at, xs);
        k->widen[dtype](count, y + at, ys);
        k->axpy[FERRY_F32](count, alpha, xs, ys);
        k->narrow[dtype](count, ys, y + at);
    }
}

static void scal_half(const struct cpu_kernels *k, uint32_t dtype, int64_t n, double alpha,
                      uint16_t *x)
{
    float xs[HALF_BLOCK];

    for (int64_t at = 0; at < n; at += HALF_BLOCK) {
        int64_t count = block_size(n - at);

        k->widen[dtype](count, x + at, xs);
        k->scal[FERRY_F32](count, alpha, xs);
        k->narrow[dtype](count, xs, x + at);
    }
}

static void axpy_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct call *c = arg;
    const void *x = c->x + first * c->size;
    void *y = c->y + first * c->size;

    (void)piece;
    if (is_half(c->dtype))
        axpy_half(c->kernels, c->dtype, count, c->alpha, x, y);
    else
        c->kernels->axpy[c->dtype](count, c->alpha, x, y);
}

static void scal_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct call *c = arg;
    void *y = c->y + first * c->size;

    (void)piece;
    if (is_half(c->dtype))
        scal_half(c->kernels, c->dtype, count, c->alpha, y);
    else
        c->kernels->scal[c->dtype](count, c->alpha, y);
}

static void axpy_large(struct cpu_device *d, uint32_t dtype, int64_t n, double alpha, const void *x,
                       void *y)
{
    struct call c = { .kernels = d->kernels,
                      .dtype = dtype,
                      .alpha = alpha,
                      .size = cpu_dtype_size(dtype),
                      .x = x,
                      .y = y };

    workers_run(d->workers, n, workers_piece(n, 2 * c.size), axpy_piece, &c);
}

static void scal_large(struct cpu_device *d, uint32_t dtype, int64_t n, double alpha, void *x)
{
    struct call c = {
        .kernels = d->kernels, .dtype = dtype, .alpha = alpha, .size = cpu_dtype_size(dtype), .y = x
    };

    workers_run(d->workers, n, workers_piece(n, c.size), scal_piece, &c);
}

/*
 * y += alpha·x. With alpha 0, y is unchanged whatever x contains, as BLAS defines it. A hundred
 * elements take less time than a few calls, so the common types call the loop directly.
 */
int cpu_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y)
{
    struct cpu_device *d = dev;

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("axpy", dtype);
    cpu_count_op(d);
    if (alpha == 0.0)
        return 0;
    if (n <= SMALL_LOOP && !is_half(dtype))
        d->kernels->axpy[dtype](n, alpha, cpu_const_pointer(x), cpu_pointer(y));
    else
        axpy_large(d, dtype, n, alpha, cpu_const_pointer(x), cpu_pointer(y));
    return 0;
}

/* x *= alpha. It multiplies for every alpha, so that NaN and infinity times 0 are NaN. */
int cpu_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    struct cpu_device *d = dev;

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("scal", dtype);
    cpu_count_op(d);
    if (n <= SMALL_LOOP && !is_half(dtype))
        d->kernels->scal[dtype](n, alpha, cpu_pointer(x));
    else
        scal_large(d, dtype, n, alpha, cpu_pointer(x));
    return 0;
}

int cpu_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    struct cpu_device *d = dev;
    int64_t size = cpu_dtype_size(dtype);

    (void)queue;
    if (!size)
        return cpu_unsupported("copy", dtype);
    cpu_copy_bytes(d, cpu_pointer(y), cpu_const_pointer(x), n * size);
    cpu_count_op(d);
    return 0;
}

/* ---- dot, asum, sumsq ----------------------------------------------------------------------- */

static double sum_half(const struct call *c, int64_t n, const uint16_t *x, const uint16_t *y)
{
    float xs[HALF_BLOCK], ys[HALF_BLOCK];
    double sum = 0;

    for (int64_t at = 0; at < n; at += HALF_BLOCK) {
        int64_t count = block_size(n - at);

        c->kernels->widen[c->dtype](count, x + at, xs);
        if (y)
            c->kernels->widen[c->dtype](count, y + at, ys);
        sum += c->sum[FERRY_F32](count, xs, y ? ys : NULL);
    }
    return sum;
}

static void sum_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct call *c = arg;
    const void *x = c->x + first * c->size;
    const void *y = c->y ? c->y + first * c->size : NULL;

    if (is_half(c->dtype))
        c->sums[piece] = sum_half(c, count, x, y);
    else
        c->sums[piece] = c->sum[c->dtype](count, x, y);
}

static void put_sum(uint32_t dtype, double sum, ferry_ref result)
{
    if (dtype == FERRY_F64)
        memcpy(cpu_pointer(result), &sum, sizeof(sum));
    else
        memcpy(cpu_pointer(result), &(float){ (float)sum }, sizeof(float));
}

/* Sums a reduction. The pieces, and the order in which their sums are added, depend only on n. */
static void reduce(struct cpu_device *d, struct call *c, int64_t n, ferry_ref result)
{
    double sums[WORKERS_MAX_PIECES]; /* each piece writes its own sum */
    int64_t piece;
    double sum = 0;

    c->kernels = d->kernels;
    c->size = cpu_dtype_size(c->dtype);
    c->sums = sums;
    piece = workers_piece(n, c->size);
    workers_run(d->workers, n, piece, sum_piece, c);
    for (int64_t i = 0; i * piece < n; i++)
        sum += sums[i];
    put_sum(c->dtype, sum, result);
    cpu_count_op(d);
}

int cpu_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result)
{
    struct cpu_device *d = dev;
    /* this loop reads two operands, and modifies neither */
    struct call c = { .sum = d->kernels->dot,
                      .dtype = dtype,
                      .x = cpu_const_pointer(x),
                      .y = (char *)(uintptr_t)cpu_const_pointer(y) };

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("dot", dtype);
    reduce(d, &c, n, result);
    return 0;
}

int cpu_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    struct cpu_device *d = dev;

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("asum", dtype);
    if (n <= SMALL_LOOP && !is_half(dtype)) {
        put_sum(dtype, d->kernels->asum[dtype](n, cpu_const_pointer(x), NULL), result);
        cpu_count_op(d);
    } else {
        struct call c = { .sum = d->kernels->asum, .dtype = dtype, .x = cpu_const_pointer(x) };

        reduce(d, &c, n, result);
    }
    return 0;
}

int cpu_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    struct cpu_device *d = dev;
    struct call c = { .sum = d->kernels->sumsq, .dtype = dtype, .x = cpu_const_pointer(x) };

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("sumsq", dtype);
    reduce(d, &c, n, result);
    return 0;
}
