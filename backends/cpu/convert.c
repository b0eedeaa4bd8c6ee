/* SPDX-License-Identifier: BSD-2-Clause */
#include "cpu.h"

#include "common/rounding.h"

#include <string.h>

/*
 * Converts between any two dtypes, one block at a time, through the widest type of the source's
 * kind: F32 if neither side is wider, else F64, and I64 for integers. Values are rounded once.
 */

#define BLOCK 512

union block {
    double f64[BLOCK];
    int64_t i64[BLOCK];
};

struct conversion {
    const struct cpu_kernels *kernels;
    uint32_t x_dtype, y_dtype;
    int64_t x_size, y_size;
    const char *x;
    char *y;
};

/* ---- blocks --------------------------------------------------------------------------------- */

#define LOAD(type, to)                \
    for (int64_t i = 0; i < n; i++)   \
        to[i] = ((const type *)x)[i]; \
    break

#define STORE(type, expression)              \
    for (int64_t i = 0; i < n; i++)          \
        ((type *)y)[i] = (type)(expression); \
    break

static void load_real(const struct cpu_kernels *k, uint32_t dtype, int64_t n, const void *x,
                      double *to)
{
    float wide[BLOCK];

    switch (dtype) {
    case FERRY_F64:
        LOAD(double, to);
    case FERRY_F32:
        k->to_f64(n, x, to);
        break;
    default:
        k->widen[dtype](n, x, wide);
        k->to_f64(n, wide, to);
    }
}

static void load_integer(uint32_t dtype, int64_t n, const void *x, int64_t *to)
{
    switch (dtype) {
    case FERRY_I8:
        LOAD(int8_t, to);
    case FERRY_U8:
        LOAD(uint8_t, to);
    case FERRY_I32:
        LOAD(int32_t, to);
    case FERRY_U32:
        LOAD(uint32_t, to);
    default:
        LOAD(int64_t, to);
    }
}

static void store_real(const struct cpu_kernels *k, uint32_t dtype, int64_t n, const double *from,
                       void *y)
{
    float near[BLOCK];

    switch (dtype) {
    case FERRY_F32:
        k->from_f64(n, from, y);
        break;
    case FERRY_F64:
        STORE(double, from[i]);
    case FERRY_I8:
        STORE(int8_t, ferry__saturate(from[i], INT8_MIN, INT8_MAX));
    case FERRY_U8:
        STORE(uint8_t, ferry__saturate(from[i], 0, UINT8_MAX));
    case FERRY_I32:
        STORE(int32_t, ferry__saturate(from[i], INT32_MIN, INT32_MAX));
    case FERRY_I64:
        STORE(int64_t, ferry__saturate(from[i], INT64_MIN, INT64_MAX));
    case FERRY_U32:
        STORE(uint32_t, ferry__saturate(from[i], 0, UINT32_MAX));
    default:
        k->odd_f64(n, from, near);
        k->narrow[dtype](n, near, y);
    }
}

static void store_integer(const struct cpu_kernels *k, uint32_t dtype, int64_t n,
                          const int64_t *from, void *y)
{
    float near[BLOCK];
    double wide[BLOCK];

    switch (dtype) {
    case FERRY_F32:
        STORE(float, from[i]);
    case FERRY_F64:
        STORE(double, from[i]);
    case FERRY_I8:
        STORE(int8_t, ferry__clamp(from[i], INT8_MIN, INT8_MAX));
    case FERRY_U8:
        STORE(uint8_t, ferry__clamp(from[i], 0, UINT8_MAX));
    case FERRY_I32:
        STORE(int32_t, ferry__clamp(from[i], INT32_MIN, INT32_MAX));
    case FERRY_I64:
        STORE(int64_t, from[i]);
    case FERRY_U32:
        STORE(uint32_t, ferry__clamp(from[i], 0, UINT32_MAX));
    default:
        for (int64_t i = 0; i < n; i++)
            wide[i] = ferry__round_odd(from[i]);
        k->odd_f64(n, wide, near);
        k->narrow[dtype](n, near, y);
    }
}

/* Converts between floating types of at most 32 bits, for which doubles are not needed. */
static void convert_short(const struct conversion *c, int64_t n, const void *x, void *y)
{
    float block[BLOCK];

    if (c->x_dtype == FERRY_F32) {
        c->kernels->narrow[c->y_dtype](n, x, y);
    } else if (c->y_dtype == FERRY_F32) {
        c->kernels->widen[c->x_dtype](n, x, y);
    } else {
        c->kernels->widen[c->x_dtype](n, x, block);
        c->kernels->narrow[c->y_dtype](n, block, y);
    }
}

static bool is_short(uint32_t dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_F16 || dtype == FERRY_BF16;
}

static void convert_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct conversion *c = arg;
    union block block;

    (void)piece;
    for (int64_t at = first; at < first + count; at += BLOCK) {
        int64_t n = first + count - at < BLOCK ? first + count - at : BLOCK;
        const void *x = c->x + at * c->x_size;
        void *y = c->y + at * c->y_size;

        if (is_short(c->x_dtype) && is_short(c->y_dtype)) {
            convert_short(c, n, x, y);
        } else if (c->x_dtype == FERRY_F64) {
            store_real(c->kernels, c->y_dtype, n, x, y);
        } else if (cpu_is_real(c->x_dtype) && c->y_dtype == FERRY_F64) {
            load_real(c->kernels, c->x_dtype, n, x, y);
        } else if (cpu_is_real(c->x_dtype)) {
            load_real(c->kernels, c->x_dtype, n, x, block.f64);
            store_real(c->kernels, c->y_dtype, n, block.f64, y);
        } else {
            load_integer(c->x_dtype, n, x, block.i64);
            store_integer(c->kernels, c->y_dtype, n, block.i64, y);
        }
    }
}

void cpu_convert_some(const struct cpu_device *d, int64_t n, uint32_t x_dtype, const void *x,
                      uint32_t y_dtype, void *y)
{
    struct conversion c = {
        d->kernels, x_dtype, y_dtype, cpu_dtype_size(x_dtype), cpu_dtype_size(y_dtype), x, y
    };

    convert_piece(&c, 0, n, 0);
}

int cpu_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x, uint32_t y_dtype,
                ferry_ref y)
{
    struct cpu_device *d = dev;
    struct conversion c = { d->kernels,
                            x_dtype,
                            y_dtype,
                            cpu_dtype_size(x_dtype),
                            cpu_dtype_size(y_dtype),
                            cpu_const_pointer(x),
                            cpu_pointer(y) };

    if (!c.x_size || !c.y_size)
        return cpu_unsupported("convert", c.x_size ? y_dtype : x_dtype);
    if (x_dtype == y_dtype)
        return cpu_copy(dev, queue, x_dtype, n, x, y);
    workers_run(d->workers, n, workers_piece(n, c.x_size + c.y_size), convert_piece, &c);
    cpu_count_op(d);
    return 0;
}

/* ---- fill ----------------------------------------------------------------------------------- */

struct filling {
    char pattern[64]; /* holds several copies of the element */
    int64_t size;
    char *y;
};

static void fill_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct filling *f = arg;
    char *y = f->y + first * f->size;
    int64_t bytes = count * f->size;
    int64_t at = 0;

    (void)piece;
    for (; at + (int64_t)sizeof(f->pattern) <= bytes; at += (int64_t)sizeof(f->pattern))
        memcpy(y + at, f->pattern, sizeof(f->pattern));
    memcpy(y + at, f->pattern, (size_t)(bytes - at));
}

int cpu_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y)
{
    struct cpu_device *d = dev;
    struct filling f = { .size = cpu_dtype_size(dtype), .y = cpu_pointer(y) };

    (void)queue;
    if (!f.size)
        return cpu_unsupported("fill", dtype);
    store_real(d->kernels, dtype, 1, &value, f.pattern);
    for (size_t at = (size_t)f.size; at < sizeof(f.pattern); at += (size_t)f.size)
        memcpy(f.pattern + at, f.pattern, (size_t)f.size);
    workers_run(d->workers, n, workers_piece(n, f.size), fill_piece, &f);
    cpu_count_op(d);
    return 0;
}
