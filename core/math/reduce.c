/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <ferry/math.h>

#include "core/math/hostmath.h"
#include "core/math/mathcall.h"
#include "core/device/pool.h"
#include "core/device/section.h"
#include "core/base/status.h"

#include <ferry/blob.h>
#include <string.h>

#define WAITS "a reduction, which waits," /* for the error message: a section cannot contain a
                                           * wait */

/* A reduction of one or two vectors to a number. */
struct reduction {
    const char *name;
    ferry_queue *q;
    uint32_t op;
    ferry_dtype dtype;
    int64_t n;
    ferry_cref x, y; /* y is for dot only */
    double *out;     /* the result of a fallback's computation */
};

/* The location where an entry stores its result, and where the host reads it. */
struct cell {
    ferry_ref ref;
    union {
        float f32;
        double f64;
    } * host;
    bool pooled;
};

#define CELL_BYTES 64u

static int acquire(ferry_device *dev, ferry_queue *q, struct cell *c, double *local)
{
    bool zeroed = false;
    void *block, *host;
    int err;

    c->ref.offset = 0;
    c->pooled = !ferry__device_is(dev, FERRY_DEVICE_HOST_MEMORY) || dev->events;
    if (!c->pooled) { /* the entry's result is complete when it returns */
        c->ref.handle = local;
        c->host = (void *)local;
        return 0;
    }
    err = ferry__pool_alloc(dev, FERRY__POOL_DEVICE, q, CELL_BYTES, true, &zeroed, &block);
    if (err)
        return err;
    zeroed = false;
    err = ferry__pool_alloc(dev, FERRY__POOL_PINNED, q, CELL_BYTES, true, &zeroed, &host);
    if (err) { /* the block may be allocated only in the order of its queue so far */
        ferry__queue_settle(dev, q->handle);
        ferry__pool_free(dev, FERRY__POOL_DEVICE, block, CELL_BYTES);
        return err;
    }
    c->ref.handle = block;
    c->host = host;
    return 0;
}

static void release(ferry_device *dev, struct cell *c)
{
    if (!c->pooled)
        return;
    ferry__pool_free(dev, FERRY__POOL_PINNED, c->host, CELL_BYTES);
    ferry__pool_free(dev, FERRY__POOL_DEVICE, c->ref.handle, CELL_BYTES);
}

/* Copies the result to the host, in queue order. */
static int bring(ferry_queue *q, const struct cell *c, ferry_dtype dtype)
{
    const ferry_plugin_ops *ops = q->device->ops;
    uint64_t bytes = dtype == FERRY_F64 ? sizeof(double) : sizeof(float);
    ferry_ref host = { NULL, 0 };
    int err;

    if (!c->pooled)
        return 0;
    host.handle = c->host;
    ferry__queue_enter(q);
    err = ops->memcpy(q->device->dev, q->handle, FERRY_MEMCPY_D2H, host, ferry_ref_const(c->ref),
                      bytes);
    ferry__queue_leave(q);
    return err ? ferry__device_fail(q->device, "copy of a result", bytes, err) : 0;
}

/* Waits for the result, and reports earlier failures of the program's own work. */
static int await(ferry_queue *q, ferry_event *e)
{
    int err = e ? ferry_event_synchronize(e) : 0;

    return err ? err : ferry__section_tell(q);
}

static int submit(const struct reduction *r, uint32_t op, int64_t n, ferry_cref x, ferry_cref y,
                  ferry_ref result)
{
    ferry_device *dev = r->q->device;
    int err;

    ferry__queue_enter(r->q);
    if (op == FERRY_OP_ASUM)
        err = dev->ops->asum(dev->dev, r->q->handle, r->dtype, n, x, result);
    else if (op == FERRY_OP_SUMSQ)
        err = dev->ops->sumsq(dev->dev, r->q->handle, r->dtype, n, x, result);
    else
        err = dev->ops->dot(dev->dev, r->q->handle, r->dtype, n, x, y, result);
    ferry__queue_leave(r->q);
    return err;
}

/*
 * Calls the plugin's entry of `op` for one piece; FERRY_EUNSUPPORTED if the device cannot compute
 * it.
 */
static int piece(const struct reduction *r, uint32_t op, int64_t first, int64_t n, struct cell *c,
                 double *out)
{
    uint64_t skip = (uint64_t)first * ferry_dtype_size(r->dtype);
    ferry_event *e;
    int ended, err = ferry__section_begin(r->q);

    if (err)
        return err;
    err = submit(r, op, n, ferry__cref_plus(r->x, skip), ferry__cref_plus(r->y, skip), c->ref);
    if (err == FERRY_EUNSUPPORTED)
        ferry__math_refuse(r->q->device, op, r->dtype);
    else if (err)
        err = ferry__math_fail(r->q->device, r->name, r->dtype, r->n, err);
    else
        err = bring(r->q, c, r->dtype);
    ended = ferry__section_end(r->q, &e);
    if (!err)
        err = ended;
    if (!err)
        err = await(r->q, e);
    ferry__event_release(e);
    if (!err)
        *out = r->dtype == FERRY_F64 ? c->host->f64 : (double)c->host->f32;
    return err;
}

/* Calls the plugin's entry of `op` for each piece of the vectors and adds the results. */
static int on_device(const struct reduction *r, uint32_t op, double *out)
{
    ferry_device *dev = r->q->device;
    double local = 0, sum = 0, partial = 0;
    struct cell c;
    int64_t first;
    int err;

    if (!ferry__math_offered(dev, op, r->dtype) || !ferry__math_reaches(dev, r->x) ||
        !ferry__math_reaches(dev, r->y))
        return FERRY_EUNSUPPORTED;
    err = ferry__section_refuse(WAITS);
    if (!err)
        err = acquire(dev, r->q, &c, &local);
    if (err)
        return err;
    for (first = 0; first < r->n && !err; first += FERRY__MATH_SPLIT) {
        int64_t left = r->n - first, n = left < FERRY__MATH_SPLIT ? left : FERRY__MATH_SPLIT;

        err = piece(r, op, first, n, &c, &partial);
        if (ferry__math_again(r->q, err)) /* memory was freed, as the piece's section has ended */
            err = piece(r, op, first, n, &c, &partial);
        sum += partial;
    }
    if (err)
        ferry__queue_settle(dev, r->q->handle); /* queued work may still write to the cell */
    release(dev, &c);
    if (!err)
        *out = sum;
    return err;
}

static int compute(const void *arg, struct ferry__operand *o)
{
    const struct reduction *r = arg;
    double partial = 0;
    int err;

    if (r->op == FERRY_OP_ASUM)
        err = ferry__host_asum(r->dtype, r->n, o[0].host, &partial);
    else if (r->op == FERRY_OP_SUMSQ)
        err = ferry__host_sumsq(r->dtype, r->n, o[0].host, &partial);
    else
        err = ferry__host_dot(r->dtype, r->n, o[0].host, o[1].host, &partial);
    *r->out += partial;
    return err;
}

static int detour(const struct reduction *whole, double *out)
{
    uint64_t size = ferry_dtype_size(whole->dtype);
    unsigned operands = whole->op == FERRY_OP_DOT ? 2 : 1;
    double sum = 0;
    int64_t first;
    int err = 0;

    for (first = 0; first < whole->n && !err; first += FERRY__MATH_TILE) {
        struct ferry__operand o[2];
        struct reduction r = *whole;

        r.n = whole->n - first < FERRY__MATH_TILE ? whole->n - first : FERRY__MATH_TILE;
        r.out = &sum;
        memset(o, 0, sizeof o);
        o[0].ref = ferry__ref_of(ferry__cref_plus(whole->x, (uint64_t)first * size));
        o[1].ref = ferry__ref_of(ferry__cref_plus(whole->y, (uint64_t)first * size));
        o[0].bytes = o[1].bytes = (uint64_t)r.n * size;
        o[0].in = o[1].in = true;
        err = ferry__math_detour(r.q, r.name, r.dtype, o, operands, compute, &r);
    }
    if (!err)
        *out = sum;
    return err;
}

static int reduce(const struct reduction *r, double *out)
{
    int err = ferry__math_check(r->q, r->name, r->dtype, r->n, true);

    if (!err && !out)
        err = ferry__error(FERRY_EINVAL, "%s: NULL result", r->name);
    if (!err && (!r->x.handle || !r->y.handle))
        err = ferry__error_null_ref(r->name);
    if (err)
        return err;
    if (r->n == 0) {
        *out = 0;
        return 0;
    }
    err = on_device(r, r->op, out);
    if (err == FERRY_EUNSUPPORTED && r->op == FERRY_OP_SUMSQ) /* dot of x with itself is the same
                                                               * sum */
        err = on_device(r, FERRY_OP_DOT, out);
    return err == FERRY_EUNSUPPORTED ? detour(r, out) : err;
}

int ferry_math_dot(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x, ferry_cref y,
                   double *out)
{
    const struct reduction r = { "dot", q, FERRY_OP_DOT, dtype, n, x, y, NULL };

    return reduce(&r, out);
}

static int asum_slow(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x, double *out)
{
    const struct reduction r = { "asum", q, FERRY_OP_ASUM, dtype, n, x, x, NULL };

    return reduce(&r, out);
}

/* Whether the sum is complete when the plugin's entry returns. */
static bool is_immediate(ferry_queue *q, uint32_t op, ferry_dtype dtype, int64_t n, ferry_cref x,
                         const double *out)
{
    return q && out && n > 0 && n <= FERRY__MATH_SPLIT && x.handle &&
           ferry__device_is(q->device, FERRY_DEVICE_HOST_MEMORY) && !q->device->events &&
           ferry__math_ready(q->device, op, dtype);
}

int ferry_math_asum(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x, double *out)
{
    union {
        float f32;
        double f64;
    } sum;
    const ferry_ref result = { &sum, 0 };
    int err;

    if (!is_immediate(q, FERRY_OP_ASUM, dtype, n, x, out)) /* the general path checks, splits or
                                                            * fetches */
        return asum_slow(q, dtype, n, x, out);
    err = ferry__section_refuse(WAITS);
    if (err)
        return err;
    ferry__queue_enter(q);
    err = q->device->ops->asum(q->device->dev, q->handle, dtype, n, x, result);
    ferry__queue_leave(q);
    if (err == FERRY_EUNSUPPORTED || ferry__math_again(q, err)) /* the call may succeed there */
        return asum_slow(q, dtype, n, x, out);
    if (err)
        return ferry__math_fail(q->device, "asum", dtype, n, err);
    *out = dtype == FERRY_F64 ? sum.f64 : (double)sum.f32;
    return 0;
}

int ferry_math_sumsq(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x, double *out)
{
    const struct reduction r = { "sumsq", q, FERRY_OP_SUMSQ, dtype, n, x, x, NULL };

    return reduce(&r, out);
}
