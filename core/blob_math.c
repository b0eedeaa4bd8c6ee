/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "blob.h"

#include "hostmath.h"
#include "status.h"

#include <ferry/math.h>
#include <string.h>

/*
 * Where work on a half runs: on a device, or on the host's copy, which a host-memory device's
 * plugin computes on faster than plain loops would.
 */
struct place {
    ferry_device *where; /* NULL: the host's copy */
    ferry_queue *q;      /* of `where`, or of a host-memory device; NULL: plain loops */
    ferry_device *held;  /* a host-memory device that was found, and is to be released */
};

static void on_host(const ferry_memory *m, struct place *p)
{
    ferry_device *home = m->home;

    p->where = p->held = NULL;
    p->q = NULL;
    if (ferry__device_is(home, FERRY_DEVICE_HOST_MEMORY) && !ferry__device_forked(home))
        p->q = &home->queue;
    else if ((p->held = ferry__device_host_memory()))
        p->q = &p->held->queue;
}

static void on_device(ferry_device *dev, struct place *p)
{
    p->where = dev;
    p->q = &dev->queue;
    p->held = NULL;
}

/* FERRY_EUNINIT where nothing was ever written. */
static int locate(const ferry_memory *m, struct place *p)
{
    ferry_device *dev;
    int err = ferry__memory_whereabouts(m, &dev);

    if (err)
        return err;
    if (dev)
        on_device(dev, p);
    else
        on_host(m, p);
    return 0;
}

/* Work on the host's copy is done before anybody reads it. */
static int leave(const struct place *p, int err)
{
    if (!err && !p->where && p->q && p->q->device->events)
        err = ferry_queue_synchronize(p->q);
    ferry__device_release(p->held);
    return err;
}

/* The half at that place. A NULL handle on failure. */
static ferry_ref get(const ferry_blob *b, enum ferry__which which, const struct place *p,
                     unsigned access)
{
    ferry_memory *m = ferry__blob_memory(b, which);
    ferry_ref ref = { NULL, 0 };

    if (!m)
        return ref;
    access = ferry__blob_access(b, which, access);
    if (!p->where)
        ref.handle = ferry__memory_host(m, access);
    else if (p->where == m->home)
        ref = ferry__memory_device(m, access);
    else
        ferry_memory_access(m, p->where, access, NULL, &ref);
    if (ref.handle)
        ref.offset += b->half[which].offset;
    return ref;
}

static void *pointer(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset;
}

static int check(const ferry_blob *b, const char *what, bool arithmetic)
{
    if (!b)
        return ferry__error(FERRY_EINVAL, "%s: NULL blob", what);
    if (arithmetic && b->dtype >= FERRY_I8)
        return ferry__error(FERRY_EUNSUPPORTED, "%s: no arithmetic on %s", what,
                            ferry_dtype_name((ferry_dtype)b->dtype));
    return 0;
}

/* ---- update ---- */

static int subtract(ferry_blob *b, const struct place *p)
{
    ferry_dtype t = (ferry_dtype)b->dtype;
    ferry_ref x = get(b, FERRY__DIFF, p, FERRY_READ), y;

    if (!x.handle)
        return ferry_last_error_code();
    y = get(b, FERRY__DATA, p, FERRY_READ | FERRY_WRITE);
    if (!y.handle)
        return ferry_last_error_code();
    if (!p->q)
        return ferry__host_axpy(t, b->shape.count, -1, pointer(x), pointer(y));
    return ferry_axpy(p->q, t, b->shape.count, -1, ferry_ref_const(x), y);
}

int ferry_blob_update(ferry_blob *b)
{
    struct place p;
    int err = check(b, "update", true);

    if (err)
        return err;
    if (locate(ferry__blob_memory(b, FERRY__DATA), &p))
        return ferry__error(FERRY_EUNINIT, "update: data was never written");
    return leave(&p, subtract(b, &p));
}

/* ---- sums ---- */

typedef int (*device_sum)(ferry_queue *, ferry_dtype, int64_t, ferry_cref, double *);
typedef int (*host_sum)(ferry_dtype, int64_t, const void *, double *);

static int sum(const ferry_blob *b, enum ferry__which which, const char *what, device_sum on_queue,
               host_sum in_loops, double *out)
{
    ferry_memory *m;
    struct place p;
    ferry_ref x;
    int err = check(b, what, true);

    if (!err && !out)
        err = ferry__error(FERRY_EINVAL, "%s: NULL result", what);
    if (err)
        return err;
    m = ((ferry_blob *)b)->half[which].memory;
    if (!m || locate(m, &p)) {
        *out = 0;
        return 0;
    }
    x = get(b, which, &p, FERRY_READ);
    if (!x.handle)
        err = ferry_last_error_code();
    else if (p.q)
        err = on_queue(p.q, (ferry_dtype)b->dtype, b->shape.count, ferry_ref_const(x), out);
    else
        err = in_loops((ferry_dtype)b->dtype, b->shape.count, pointer(x), out);
    return leave(&p, err);
}

int ferry_blob_asum_data(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DATA, "asum", ferry_asum, ferry__host_asum, out);
}

int ferry_blob_asum_diff(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DIFF, "asum", ferry_asum, ferry__host_asum, out);
}

int ferry_blob_sumsq_data(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DATA, "sumsq", ferry_sumsq, ferry__host_sumsq, out);
}

int ferry_blob_sumsq_diff(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DIFF, "sumsq", ferry_sumsq, ferry__host_sumsq, out);
}

/* ---- scale and fill ---- */

static int scale(ferry_blob *b, enum ferry__which which, double factor)
{
    ferry_memory *m;
    struct place p;
    ferry_ref x;
    int err = check(b, "scale", true);

    if (err)
        return err;
    m = b->half[which].memory;
    if (!m || locate(m, &p))
        return 0;
    x = get(b, which, &p, FERRY_READ | FERRY_WRITE);
    if (!x.handle)
        err = ferry_last_error_code();
    else if (p.q)
        err = ferry_scal(p.q, (ferry_dtype)b->dtype, b->shape.count, factor, x);
    else
        err = ferry__host_scal((ferry_dtype)b->dtype, b->shape.count, factor, pointer(x));
    return leave(&p, err);
}

int ferry_blob_scale_data(ferry_blob *b, double factor)
{
    return scale(b, FERRY__DATA, factor);
}

int ferry_blob_scale_diff(ferry_blob *b, double factor)
{
    return scale(b, FERRY__DIFF, factor);
}

static int fill(ferry_blob *b, enum ferry__which which, double value)
{
    unsigned char element[8];
    ferry_memory *m;
    struct place p;
    ferry_ref y;
    int err = check(b, "fill", false);

    if (!err && ferry__host_fill((ferry_dtype)b->dtype, 1, value, element))
        err = ferry__error(FERRY_EOVERFLOW, "fill: %s cannot hold %g",
                           ferry_dtype_name((ferry_dtype)b->dtype), value);
    if (err)
        return err;
    m = ferry__blob_memory(b, which);
    if (!m)
        return ferry_last_error_code();
    if (locate(m, &p))
        on_device(m->home, &p);
    y = get(b, which, &p, FERRY_WRITE);
    if (!y.handle)
        err = ferry_last_error_code();
    else if (p.q)
        err = ferry_fill(p.q, (ferry_dtype)b->dtype, b->shape.count, value, y);
    else
        err = ferry__host_fill((ferry_dtype)b->dtype, b->shape.count, value, pointer(y));
    return leave(&p, err);
}

int ferry_blob_fill_data(ferry_blob *b, double value)
{
    return fill(b, FERRY__DATA, value);
}

int ferry_blob_fill_diff(ferry_blob *b, double value)
{
    return fill(b, FERRY__DIFF, value);
}

/* ---- one element ---- */

static int element_at(const ferry_blob *b, enum ferry__which which, int n, const int64_t *index,
                      double *out)
{
    struct place p = { NULL, NULL, NULL };
    int64_t at;
    ferry_ref x;

    if (!b || !out)
        return ferry__error(FERRY_EINVAL, "element: NULL argument");
    if (b->shape.count == 0)
        return ferry__error(FERRY_EINVAL, "element: the blob has none");
    at = ferry_blob_offset(b, n, index);
    if (at < 0)
        return (int)at;
    x = get(b, which, &p, FERRY_READ);
    if (!x.handle)
        return ferry_last_error_code();
    *out = ferry__host_load((ferry_dtype)b->dtype, pointer(x), at);
    return 0;
}

int ferry_blob_data_at(const ferry_blob *b, int n, const int64_t *index, double *out)
{
    return element_at(b, FERRY__DATA, n, index, out);
}

int ferry_blob_diff_at(const ferry_blob *b, int n, const int64_t *index, double *out)
{
    return element_at(b, FERRY__DIFF, n, index, out);
}

/* ---- copy_from ---- */

/*
 * Where the source is, if `to` lives there too; otherwise the host. A source never written counts
 * as being at its home.
 */
static void place_copy(const ferry_memory *from, const ferry_memory *to, struct place *p)
{
    ferry_device *dev = from->home;

    if (ferry__memory_whereabouts(from, &dev) == 0 && !dev)
        on_host(to, p);
    else if (dev == to->home)
        on_device(dev, p);
    else
        on_host(to, p);
}

/* Two parts of one memory, which a device may not copy between where they overlap. */
static bool overlap(const ferry_blob *a, const ferry_blob *b, enum ferry__which which)
{
    size_t x = a->half[which].offset, y = b->half[which].offset;

    return a->half[which].memory == b->half[which].memory && x < y + ferry__blob_bytes(b) &&
           y < x + ferry__blob_bytes(a);
}

static int run_copy(const struct place *p, ferry_dtype xt, ferry_ref x, ferry_dtype yt, ferry_ref y,
                    int64_t n)
{
    if (p->where || (p->q && xt != yt))
        return ferry_convert(p->q, n, xt, ferry_ref_const(x), yt, y);
    if (xt != yt)
        return ferry__host_convert(n, xt, pointer(x), yt, pointer(y));
    memmove(pointer(y), pointer(x), (size_t)n * ferry_dtype_size(xt));
    return 0;
}

static int copy_half(ferry_blob *b, const ferry_blob *source, enum ferry__which which)
{
    ferry_memory *from = ferry__blob_memory(source, which), *to = ferry__blob_memory(b, which);
    struct place p;
    ferry_ref x, y;
    int err;

    if (!from || !to)
        return ferry_last_error_code();
    if (from == to && b->half[which].offset == source->half[which].offset &&
        b->dtype == source->dtype)
        return 0;
    if (overlap(b, source, which)) {
        if (b->dtype != source->dtype)
            return ferry__error(FERRY_EINVAL, "copy: the blobs overlap, and their dtypes differ");
        p.where = p.held = NULL;
        p.q = NULL;
    } else {
        place_copy(from, to, &p);
    }
    x = get(source, which, &p, FERRY_READ);
    if (!x.handle)
        return leave(&p, ferry_last_error_code());
    y = get(b, which, &p, FERRY_WRITE);
    if (!y.handle)
        return leave(&p, ferry_last_error_code());
    err = run_copy(&p, (ferry_dtype)source->dtype, x, (ferry_dtype)b->dtype, y, b->shape.count);
    return leave(&p, err);
}

int ferry_blob_copy_from(ferry_blob *b, const ferry_blob *source, unsigned flags)
{
    int err;

    if (!b || !source)
        return ferry__error(FERRY_EINVAL, "ferry_blob_copy_from: NULL blob");
    if (flags & ~(FERRY_COPY_DIFF | FERRY_COPY_RESHAPE))
        return ferry__error(FERRY_EINVAL, "ferry_blob_copy_from: flags are %#x", flags);
    if (b == source)
        return 0;
    if (!ferry__shape_equal(&b->shape, &source->shape)) {
        if (!(flags & FERRY_COPY_RESHAPE)) {
            char ours[1024] = "?", theirs[1024] = "?";

            ferry__shape_string(&b->shape, ours, sizeof ours);
            ferry__shape_string(&source->shape, theirs, sizeof theirs);
            return ferry__error(FERRY_ESHAPE, "copy: the source's shape is %s, not %s", theirs,
                                ours);
        }
        err = ferry_blob_reshape_like(b, source);
        if (err)
            return err;
    }
    return copy_half(b, source, flags & FERRY_COPY_DIFF ? FERRY__DIFF : FERRY__DATA);
}
