/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <ferry/math.h>

#include "common/rounding.h"
#include "core/math/hostblock.h"
#include "core/math/hostmath.h"
#include "core/math/mathcall.h"
#include "core/base/status.h"
#include "core/device/trace.h"

#include <ferry/blob.h>
#include <stdlib.h>
#include <string.h>

/* An element-wise operation, or a part of one: y from x, or y alone. */
struct call {
    const char *name;
    ferry_queue *q;
    uint32_t op;
    ferry_dtype dtype;   /* the dtype of x, or of y if there is no x */
    ferry_dtype y_dtype; /* the dtype of y, which differs from `dtype` only in convert */
    int64_t n;
    double alpha;
    bool has_x, reads_y;
    int answer; /* FERRY_ENOMEM after a first call for all elements failed with it; otherwise 0 */
    ferry_cref x;
    ferry_ref y;
    int (*submit)(const struct call *c); /* the plugin's entry */
    int (*compute)(const struct call *c, const void *x, void *y);
};

/* The part of a call with `n` elements from `first` on. */
static struct call part_of(const struct call *c, int64_t first, int64_t n)
{
    struct call part = *c;

    part.n = n;
    part.x = ferry__cref_plus(c->x, (uint64_t)first * ferry_dtype_size(c->dtype));
    part.y = ferry__ref_plus(c->y, (uint64_t)first * ferry_dtype_size(c->y_dtype));
    return part;
}

static int compute_operands(const void *arg, struct ferry__operand *o)
{
    const struct call *c = arg;

    return c->compute(c, c->has_x ? o[1].host : NULL, o[0].host);
}

/* Computes one tile on the host. If x is y, it is copied once. */
static int detour_tile(const struct call *c)
{
    struct ferry__operand o[2];
    uint64_t y_bytes = (uint64_t)c->n * ferry_dtype_size(c->y_dtype);

    memset(o, 0, sizeof o);
    o[0].ref = c->y;
    o[0].bytes = y_bytes;
    o[0].in = c->reads_y;
    o[0].out = true;
    if (c->has_x) {
        o[1].ref = ferry__ref_of(c->x);
        o[1].bytes = (uint64_t)c->n * ferry_dtype_size(c->dtype);
        o[1].in = true;
    }
    return ferry__math_detour(c->q, c->name, c->dtype, o, c->has_x ? 2 : 1, compute_operands, c);
}

static int detour(const struct call *c)
{
    int64_t first;
    int err = 0;

    for (first = 0; first < c->n && !err; first += FERRY__MATH_TILE) {
        int64_t left = c->n - first;
        struct call part = part_of(c, first, left < FERRY__MATH_TILE ? left : FERRY__MATH_TILE);

        err = detour_tile(&part);
    }
    return err;
}

static int submit(const struct call *part)
{
    int err;

    ferry__queue_enter(part->q);
    err = part->submit(part);
    ferry__queue_leave(part->q);
    return err;
}

/*
 * Computes on the device, in pieces; FERRY_EUNSUPPORTED if the device cannot, and nothing was done.
 */
static int on_device(const struct call *c)
{
    int64_t first;
    int err = 0;

    if (!ferry__math_offered(c->q->device, c->op, c->dtype) ||
        !ferry__math_reaches(c->q->device, c->x) ||
        !ferry__math_reaches(c->q->device, ferry_ref_const(c->y)))
        return FERRY_EUNSUPPORTED;
    for (first = 0; first < c->n && !err; first += FERRY__MATH_SPLIT) {
        int64_t left = c->n - first;
        struct call part = part_of(c, first, left < FERRY__MATH_SPLIT ? left : FERRY__MATH_SPLIT);

        err = c->answer ? c->answer : submit(&part);
        if (ferry__math_again(c->q, err))
            err = submit(&part);
    }
    if (err == FERRY_EUNSUPPORTED && c->op != FERRY_OP_CONVERT)
        ferry__math_refuse(c->q->device, c->op, c->dtype);
    else if (err && err != FERRY_EUNSUPPORTED)
        err = ferry__math_fail(c->q->device, c->name, c->dtype, c->n, err);
    return err;
}

static int check(const struct call *c, bool floating)
{
    int err = ferry__math_check(c->q, c->name, c->dtype, c->n, floating);

    if (!err && ((c->has_x && !c->x.handle) || !c->y.handle))
        err = ferry__error_null_ref(c->name);
    return err;
}

/* ---- axpy ---- */

static int submit_axpy(const struct call *c)
{
    return c->q->device->ops->axpy(c->q->device->dev, c->q->handle, c->dtype, c->n, c->alpha, c->x,
                                   c->y);
}

static int compute_axpy(const struct call *c, const void *x, void *y)
{
    return ferry__host_axpy(c->dtype, c->n, c->alpha, x, y);
}

/* Computes with all checks: on the device in pieces, or on the host. */
static int axpy_slow(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha, ferry_cref x,
                     ferry_ref y, int answer)
{
    const struct call c = { .name = "axpy",
                            .q = q,
                            .op = FERRY_OP_AXPY,
                            .dtype = dtype,
                            .y_dtype = dtype,
                            .n = n,
                            .alpha = alpha,
                            .has_x = true,
                            .reads_y = true,
                            .answer = answer,
                            .x = x,
                            .y = y,
                            .submit = submit_axpy,
                            .compute = compute_axpy };
    int err = check(&c, true);

    if (err || n == 0)
        return err;
    err = on_device(&c);
    return err == FERRY_EUNSUPPORTED ? detour(&c) : err;
}

int ferry__math_axpy_refused(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                             ferry_cref x, ferry_ref y, int answer)
{
    if (answer == FERRY_EUNSUPPORTED || answer == FERRY_ENOMEM) /* nothing was done */
        return axpy_slow(q, dtype, n, alpha, x, y, answer == FERRY_ENOMEM ? answer : 0);
    return ferry__math_fail(q->device, "axpy", dtype, n, answer);
}

int ferry_math_axpy(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha, ferry_cref x,
                    ferry_ref y)
{
    if (q && n > 0 && n <= FERRY__MATH_SPLIT && x.handle && y.handle &&
        ferry__math_ready(q->device, FERRY_OP_AXPY, dtype)) {
        int err = ferry__math_axpy_now(q, dtype, n, alpha, x, y);

        return err ? ferry__math_axpy_refused(q, dtype, n, alpha, x, y, err) : 0;
    }
    return axpy_slow(q, dtype, n, alpha, x, y, 0);
}

/* ---- scal ---- */

static int submit_scal(const struct call *c)
{
    return c->q->device->ops->scal(c->q->device->dev, c->q->handle, c->dtype, c->n, c->alpha, c->y);
}

static int compute_scal(const struct call *c, const void *x, void *y)
{
    (void)x;
    return ferry__host_scal(c->dtype, c->n, c->alpha, y);
}

static int scal_slow(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha, ferry_ref x,
                     int answer)
{
    const struct call c = { .name = "scal",
                            .q = q,
                            .op = FERRY_OP_SCAL,
                            .dtype = dtype,
                            .y_dtype = dtype,
                            .n = n,
                            .alpha = alpha,
                            .reads_y = true,
                            .answer = answer,
                            .y = x,
                            .submit = submit_scal,
                            .compute = compute_scal };
    int err = check(&c, true);

    if (err || n == 0)
        return err;
    err = on_device(&c);
    return err == FERRY_EUNSUPPORTED ? detour(&c) : err;
}

int ferry__math_scal_refused(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha,
                             ferry_ref x, int answer)
{
    if (answer == FERRY_EUNSUPPORTED || answer == FERRY_ENOMEM) /* nothing was done */
        return scal_slow(q, dtype, n, alpha, x, answer == FERRY_ENOMEM ? answer : 0);
    return ferry__math_fail(q->device, "scal", dtype, n, answer);
}

int ferry_math_scal(ferry_queue *q, ferry_dtype dtype, int64_t n, double alpha, ferry_ref x)
{
    if (q && n > 0 && n <= FERRY__MATH_SPLIT && x.handle &&
        ferry__math_ready(q->device, FERRY_OP_SCAL, dtype)) {
        int err = ferry__math_scal_now(q, dtype, n, alpha, x);

        return err ? ferry__math_scal_refused(q, dtype, n, alpha, x, err) : 0;
    }
    return scal_slow(q, dtype, n, alpha, x, 0);
}

/* ---- copy ---- */

static int submit_copy(const struct call *c)
{
    return c->q->device->ops->copy(c->q->device->dev, c->q->handle, c->dtype, c->n, c->x, c->y);
}

int ferry_math_copy(ferry_queue *q, ferry_dtype dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    const struct call c = { .name = "copy",
                            .q = q,
                            .op = FERRY_OP_COPY,
                            .dtype = dtype,
                            .y_dtype = dtype,
                            .n = n,
                            .has_x = true,
                            .x = x,
                            .y = y,
                            .submit = submit_copy };
    const uint64_t bytes = (uint64_t)n * ferry_dtype_size(dtype);
    double start = ferry__trace_now();
    int err = check(&c, false);

    if (err || n == 0)
        return err;
    err = on_device(&c);
    if (err != FERRY_EUNSUPPORTED)
        return err;
    err = ferry__queue_memcpy(q, FERRY_MEMCPY_D2D, y, x, bytes);
    if (!err)
        ferry__trace_copy(
            &(struct ferry__trace_copy){ "d2d", c.name, bytes, FERRY__COMPUTE, false }, q, start);
    return err;
}

/* ---- fill ---- */

static int submit_fill(const struct call *c)
{
    return c->q->device->ops->fill(c->q->device->dev, c->q->handle, c->dtype, c->n, c->alpha, c->y);
}

static int compute_fill(const struct call *c, const void *x, void *y)
{
    (void)x;
    return ferry__host_fill(c->dtype, c->n, c->alpha, y);
}

/* Whether all bytes of the value are the same, as in 0: the fill then needs no arithmetic. */
static bool is_one_byte(const unsigned char *element, size_t size)
{
    size_t i;

    for (i = 1; i < size; i++)
        if (element[i] != element[0])
            return false;
    return true;
}

/* The value as the integer dtype can hold it, so that the plugin need not round. */
static double rounded(ferry_dtype dtype, double value)
{
    return dtype >= FERRY_I8 ? ferry__round_even(value) : value;
}

int ferry_math_fill(ferry_queue *q, ferry_dtype dtype, int64_t n, double value, ferry_ref y)
{
    const struct call c = { .name = "fill",
                            .q = q,
                            .op = FERRY_OP_FILL,
                            .dtype = dtype,
                            .y_dtype = dtype,
                            .n = n,
                            .alpha = rounded(dtype, value),
                            .y = y,
                            .submit = submit_fill,
                            .compute = compute_fill };
    unsigned char element[8];
    size_t size = ferry_dtype_size(dtype);
    int err = check(&c, false);

    if (!err && ferry__host_fill(dtype, 1, value, element))
        err = ferry__error(FERRY_EOVERFLOW, "%s: fill: %s cannot hold %g", q->device->name,
                           ferry_dtype_name(dtype), value);
    if (err || n == 0)
        return err;
    err = on_device(&c);
    if (err != FERRY_EUNSUPPORTED)
        return err;
    if (is_one_byte(element, size))
        return ferry__queue_memset(q, y, element[0], (uint64_t)n * size);
    return detour(&c);
}

/* ---- convert ---- */

static int submit_convert(const struct call *c)
{
    return c->q->device->ops->convert(c->q->device->dev, c->q->handle, c->n, c->dtype, c->x,
                                      c->y_dtype, c->y);
}

static int compute_convert(const struct call *c, const void *x, void *y)
{
    return ferry__host_convert(c->n, c->dtype, x, c->y_dtype, y);
}

int ferry_math_convert(ferry_queue *q, int64_t n, ferry_dtype x_dtype, ferry_cref x,
                       ferry_dtype y_dtype, ferry_ref y)
{
    const struct call c = { .name = "convert",
                            .q = q,
                            .op = FERRY_OP_CONVERT,
                            .dtype = x_dtype,
                            .y_dtype = y_dtype,
                            .n = n,
                            .has_x = true,
                            .x = x,
                            .y = y,
                            .submit = submit_convert,
                            .compute = compute_convert };
    int err = check(&c, false);

    if (!err && !ferry_dtype_size(y_dtype))
        err = ferry__error(FERRY_EINVAL, "%s: convert: %d is not a dtype", q->device->name,
                           (int)y_dtype);
    if (err || n == 0)
        return err;
    if (x_dtype == y_dtype)
        return ferry_math_copy(q, x_dtype, n, x, y);
    err = q->device->ops->supports_convert(q->device->dev, x_dtype, y_dtype) > 0
              ? on_device(&c)
              : FERRY_EUNSUPPORTED;
    return err == FERRY_EUNSUPPORTED ? detour(&c) : err;
}
