/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/blob.h"

#include "core/blob/at_once.h"
#include "core/device/device_list.h"
#include "core/math/hostmath.h"
#include "core/math/mathcall.h"
#include "core/base/status.h"
#include "core/device/section.h"

#include <ferry/math.h>
#include <string.h>

/*
 * The place where work on a half runs: a device, or the host's copy. A host-memory device's plugin
 * computes on the host's copy faster than plain loops do.
 */
struct place {
    ferry_device *where; /* NULL: the host's copy */
    ferry_queue *q;      /* a queue of `where`, or of a host-memory device; NULL: plain loops */
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

/* Chooses the place of the newest copy; FERRY_EUNINIT if the contents were never written. */
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

/* The range of a memory that an operation works on, and the state to restore if it fails. */
struct part {
    ferry_memory *m;
    ferry_device *home; /* the blob's home */
    size_t offset, bytes;
    ferry_dtype dtype;
    uint64_t mark;
    bool regains;  /* if the operation is refused, copies that left V as too short are valid
                    * again */
    size_t filled; /* the value to restore then: see ferry__memory_filled */
    bool whole;    /* entered with the old contents, all of which are to be overwritten */
};

static int part_of(const ferry_blob *b, enum ferry__which which, struct part *out)
{
    out->m = ferry__blob_memory(b, which);
    out->home = ferry__blob_home(b);
    out->offset = b->half[which].offset;
    out->bytes = ferry__blob_bytes(b);
    out->dtype = (ferry_dtype)b->dtype;
    out->regains = out->whole = false;
    return out->m ? 0 : ferry_last_error_code();
}

/* Accesses the part at that place, and records the state to restore. */
static int reach(struct part *part, const struct place *p, unsigned access, ferry_ref *out)
{
    ferry_memory *m = part->m;

    part->mark = ferry__memory_mark(m);
    part->filled =
        part->regains && access == FERRY_WRITE ? ferry__memory_filled(m, p->where) : SIZE_MAX;
    out->offset = 0;
    if (!p->where)
        out->handle = ferry__memory_host(m, access);
    else if (p->where == m->home)
        *out = ferry__memory_device(m, access);
    else if (ferry_memory_access(m, p->where, access, NULL, out))
        out->handle = NULL;
    out->offset += part->offset;
    return out->handle ? 0 : ferry_last_error_code();
}

/*
 * Accesses the part for an operation. A write that does not cover all bytes in use keeps the rest,
 * and a write that may be undone first fills the bytes that were never filled.
 */
static int get(struct part *part, const struct place *p, unsigned access, ferry_ref *out)
{
    ferry_memory *m = part->m;
    bool covers = ferry__memory_covers(m, part->offset, part->bytes);
    int err;

    if (access != FERRY_WRITE || (covers && !ferry__memory_is_short(m, p->where)))
        return reach(part, p, access, out);
    part->whole = covers;
    err = reach(part, p, FERRY_READ | FERRY_WRITE, out);
    /* the lost contents, tail included, would have been overwritten */
    return err == FERRY_ELOST && covers ? reach(part, p, FERRY_WRITE, out) : err;
}

/*
 * Operations of up to so many elements are done in one piece, so that a failed operation changed
 * nothing.
 */
#define ONE_PIECE (INT64_C(1) << 22)

static bool is_intact(const struct part *part)
{
    return part->bytes / ferry_dtype_size(part->dtype) <= ONE_PIECE;
}

/*
 * Work that is submitted from here to `end` writes a part, and its failure is attributed to that
 * part only. The queue is reserved for this thread meanwhile.
 */
static int begin(const struct place *p, const struct part *to)
{
    int err = p->q && p->q->device->events ? ferry__section_begin(p->q) : 0;

    if (err)
        ferry__memory_restore(to->m, to->mark, p->where, true, to->filled);
    return err;
}

/* Work on the host's copy is done before any thread reads it. */
static int finish(struct part *to, ferry_event *e)
{
    int err = e ? ferry_event_synchronize(e) : 0;

    if (err)
        ferry__memory_fail(to->m, NULL, err);
    return err;
}

/*
 * Ends the work. `to` was written, from the contents of `from` (NULL: from its own), or the work
 * was refused with `err`: then the copies that were valid before are valid again.
 */
static int end(const struct place *p, struct part *to, const struct part *from, int err)
{
    ferry_event *e = NULL;

    if (p->q && p->q->device->events)
        ferry__section_end(p->q, &e);
    if (err)
        ferry__memory_restore(to->m, to->mark, p->where, is_intact(to), to->filled);
    if (p->where && (!err || !is_intact(to)))
        ferry__record_work(to->m, from ? from->m : NULL, p->q, e, to->whole && !err);
    else if (!err)
        err = finish(to, e);
    ferry__event_release(e);
    return err;
}

static int leave(const struct place *p, int err)
{
    ferry__device_release(p->held);
    return err;
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

/*
 * Whether a device turned out to be lost while the contents are valid elsewhere too: the operation
 * can then be done there.
 */
static bool again(const ferry_blob *b, enum ferry__which which, int err)
{
    return err == FERRY_ELOST && ferry__memory_is_left(b->half[which].memory);
}

/* ---- update ---- */

static int subtract(ferry_blob *b, struct part *data, const struct place *p)
{
    int64_t n = b->shape.count;
    struct part diff;
    ferry_ref x, y;
    int err;

    if (n == 0)
        return 0;
    err = part_of(b, FERRY__DIFF, &diff);
    if (!err)
        err = get(&diff, p, FERRY_READ, &x);
    if (!err)
        err = get(data, p, FERRY_READ | FERRY_WRITE, &y);
    if (!err)
        err = begin(p, data);
    if (err)
        return err;
    err = p->q ? ferry_math_axpy(p->q, data->dtype, n, -1, ferry_ref_const(x), y)
               : ferry__host_axpy(data->dtype, n, -1, pointer(x), pointer(y));
    return end(p, data, &diff, err);
}

static int update_anywhere(ferry_blob *b)
{
    struct place p;
    struct part data;
    int err = check(b, "update", true);

    if (!err)
        err = part_of(b, FERRY__DATA, &data);
    if (err)
        return err;
    err = locate(data.m, &p);
    if (err)
        return err == FERRY_EUNINIT ? ferry__error(err, "update: data was never written") : err;
    return leave(&p, subtract(b, &data, &p));
}

int ferry_blob_update(ferry_blob *b)
{
    ferry_memory *data = b ? b->half[FERRY__DATA].memory : NULL;
    ferry_memory *diff = b ? b->half[FERRY__DIFF].memory : NULL;
    uint64_t mark = data ? ferry__memory_mark(data) : 0;
    ferry_queue *q;
    ferry_cref x;
    ferry_ref y;
    bool at_host;
    int err;

    if (!diff || diff->home != data->home || !ferry__at_once(b, data, FERRY_OP_AXPY) ||
        !ferry__at_once_side(data, &at_host) || !ferry__at_once_read(diff, at_host, &x) ||
        !ferry__at_once_enter(data, at_host, &y)) { /* data comes last, so that a refusal leaves it
                                                     * unchanged */
        err = update_anywhere(b);
        return again(b, FERRY__DATA, err) ? update_anywhere(b) : err;
    }
    ferry__memory_count_write(data);
    x.offset += b->half[FERRY__DIFF].offset;
    y.offset += b->half[FERRY__DATA].offset;
    q = &data->home->queue;
    err = ferry__math_axpy_now(q, (ferry_dtype)b->dtype, b->shape.count, -1, x, y);
    if (!err)
        return 0;
    err = ferry__math_axpy_refused(q, (ferry_dtype)b->dtype, b->shape.count, -1, x, y, err);
    if (err)
        ferry__memory_restore(data, mark, NULL, true, SIZE_MAX);
    return err;
}

/* ---- sums ---- */

/* Finds the newest copy of the half; FERRY_EUNINIT if the half was never written. */
static int locate_half(const ferry_blob *b, enum ferry__which which, struct place *p)
{
    ferry_memory *m = ((ferry_blob *)b)->half[which].memory;

    return m ? locate(m, p) : FERRY_EUNINIT;
}

typedef int (*device_sum)(ferry_queue *, ferry_dtype, int64_t, ferry_cref, double *);
typedef int (*host_sum)(ferry_dtype, int64_t, const void *, double *);

static int sum_once(const ferry_blob *b, enum ferry__which which, const char *what,
                    device_sum on_queue, host_sum in_loops, double *out)
{
    struct place p;
    struct part part;
    double value = 0;
    ferry_ref x;
    int err = check(b, what, true);

    if (!err && !out)
        err = ferry__error(FERRY_EINVAL, "%s: NULL result", what);
    if (!err)
        err = locate_half(b, which, &p);
    if (err == FERRY_EUNINIT) {
        *out = 0;
        return 0;
    }
    if (err)
        return err;
    err = part_of(b, which, &part);
    if (!err)
        err = get(&part, &p, FERRY_READ, &x);
    if (!err)
        err = p.q ? on_queue(p.q, part.dtype, b->shape.count, ferry_ref_const(x), &value)
                  : in_loops(part.dtype, b->shape.count, pointer(x), &value);
    if (!err)
        err = ferry__memory_check(part.m, p.where);
    if (!err)
        *out = value;
    return leave(&p, err);
}

static int sum(const ferry_blob *b, enum ferry__which which, const char *what, device_sum on_queue,
               host_sum in_loops, double *out)
{
    int err = sum_once(b, which, what, on_queue, in_loops, out);

    return again(b, which, err) ? sum_once(b, which, what, on_queue, in_loops, out) : err;
}

int ferry_blob_asum_data(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DATA, "asum", ferry_math_asum, ferry__host_asum, out);
}

int ferry_blob_asum_diff(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DIFF, "asum", ferry_math_asum, ferry__host_asum, out);
}

int ferry_blob_sumsq_data(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DATA, "sumsq", ferry_math_sumsq, ferry__host_sumsq, out);
}

int ferry_blob_sumsq_diff(const ferry_blob *b, double *out)
{
    return sum(b, FERRY__DIFF, "sumsq", ferry_math_sumsq, ferry__host_sumsq, out);
}

/* ---- scale and fill ---- */

static int scale_anywhere(ferry_blob *b, enum ferry__which which, double factor)
{
    struct place p;
    struct part part;
    ferry_ref x;
    int err = check(b, "scale", true);

    if (!err)
        err = locate_half(b, which, &p);
    if (err || b->shape.count == 0)
        return err == FERRY_EUNINIT ? 0 : err;
    err = part_of(b, which, &part);
    if (!err)
        err = get(&part, &p, FERRY_READ | FERRY_WRITE, &x);
    if (!err)
        err = begin(&p, &part);
    if (!err)
        err = end(&p, &part, NULL,
                  p.q ? ferry_math_scal(p.q, part.dtype, b->shape.count, factor, x)
                      : ferry__host_scal(part.dtype, b->shape.count, factor, pointer(x)));
    return leave(&p, err);
}

static int scale(ferry_blob *b, enum ferry__which which, double factor)
{
    ferry_memory *m = b ? b->half[which].memory : NULL;
    uint64_t mark = m ? ferry__memory_mark(m) : 0;
    ferry_queue *q;
    ferry_ref x;
    bool at_host;
    int err;

    if (!m || !ferry__at_once(b, m, FERRY_OP_SCAL) || !ferry__at_once_side(m, &at_host) ||
        !ferry__at_once_enter(m, at_host, &x)) {
        err = scale_anywhere(b, which, factor);
        return again(b, which, err) ? scale_anywhere(b, which, factor) : err;
    }
    ferry__memory_count_write(m);
    q = &m->home->queue;
    x.offset += b->half[which].offset;
    err = ferry__math_scal_now(q, (ferry_dtype)b->dtype, b->shape.count, factor, x);
    if (!err)
        return 0;
    err = ferry__math_scal_refused(q, (ferry_dtype)b->dtype, b->shape.count, factor, x, err);
    if (err)
        ferry__memory_restore(m, mark, NULL, true, SIZE_MAX);
    return err;
}

int ferry_blob_scale_data(ferry_blob *b, double factor)
{
    return scale(b, FERRY__DATA, factor);
}

int ferry_blob_scale_diff(ferry_blob *b, double factor)
{
    return scale(b, FERRY__DIFF, factor);
}

static int fill_once(ferry_blob *b, enum ferry__which which, double value)
{
    unsigned char element[8];
    struct place p;
    struct part part;
    ferry_ref y;
    int err = check(b, "fill", false);

    if (!err && ferry__host_fill((ferry_dtype)b->dtype, 1, value, element))
        err = ferry__error(FERRY_EOVERFLOW, "fill: %s cannot hold %g",
                           ferry_dtype_name((ferry_dtype)b->dtype), value);
    if (!err)
        err = part_of(b, which, &part);
    if (err || b->shape.count == 0) /* without elements, no contents are copied */
        return err;
    if (locate(part.m, &p))
        on_device(part.home, &p);
    err = get(&part, &p, FERRY_WRITE, &y);
    if (!err)
        err = begin(&p, &part);
    if (!err)
        err = end(&p, &part, NULL,
                  p.q ? ferry_math_fill(p.q, part.dtype, b->shape.count, value, y)
                      : ferry__host_fill(part.dtype, b->shape.count, value, pointer(y)));
    return leave(&p, err);
}

static int fill(ferry_blob *b, enum ferry__which which, double value)
{
    int err = fill_once(b, which, value);

    return again(b, which, err) ? fill_once(b, which, value) : err;
}

int ferry_blob_fill_data(ferry_blob *b, double value)
{
    return fill(b, FERRY__DATA, value);
}

int ferry_blob_fill_diff(ferry_blob *b, double value)
{
    return fill(b, FERRY__DIFF, value);
}

/* ---- copy_from ---- */

/*
 * Chooses the place of a copy: the source's device if `to` has the same home, otherwise the host. A
 * source that was never written counts as being at its home.
 */
static void place_copy(const struct part *from, const struct part *to, struct place *p)
{
    ferry_device *dev = from->home;

    if (ferry__memory_whereabouts(from->m, &dev) == 0 && !dev)
        on_host(to->m, p);
    else if (dev == to->home)
        on_device(dev, p);
    else
        on_host(to->m, p);
}

/* Whether two parts of one memory overlap: a device may not copy between these. */
static bool overlap(const struct part *a, const struct part *b)
{
    return a->m == b->m && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static int run_copy(const struct place *p, ferry_dtype xt, ferry_ref x, ferry_dtype yt, ferry_ref y,
                    int64_t n)
{
    if (p->where || (p->q && xt != yt))
        return ferry_math_convert(p->q, n, xt, ferry_ref_const(x), yt, y);
    if (xt != yt)
        return ferry__host_convert(n, xt, pointer(x), yt, pointer(y));
    memmove(pointer(y), pointer(x), (size_t)n * ferry_dtype_size(xt));
    return 0;
}

static int copy_part(struct part *to, struct part *from, int64_t n)
{
    struct place p = { NULL, NULL, NULL };
    ferry_ref x, y;
    int err;

    if (n == 0) /* and no bytes are copied */
        return 0;
    if (!overlap(to, from))
        place_copy(from, to, &p);
    else if (to->dtype != from->dtype)
        return ferry__error(FERRY_EINVAL, "copy: the blobs overlap, and their dtypes differ");
    err = get(from, &p, FERRY_READ, &x);
    if (!err)
        err = get(to, &p, FERRY_WRITE, &y);
    if (!err)
        err = begin(&p, to);
    if (!err)
        err = end(&p, to, from, run_copy(&p, from->dtype, x, to->dtype, y, n));
    return leave(&p, err);
}

static int copy_equal(ferry_blob *b, const ferry_blob *source, enum ferry__which which)
{
    struct part from, to;
    int err = part_of(source, which, &from);

    if (!err)
        err = part_of(b, which, &to);
    if (err || (from.m == to.m && from.offset == to.offset && from.dtype == to.dtype))
        return err;
    return copy_part(&to, &from, b->shape.count);
}

/* Copies into the memory that the blob has after the reshape, so that a failure changes nothing. */
static int copy_reshaped(ferry_blob *b, const ferry_blob *source, enum ferry__which which)
{
    const struct ferry__half *half = &b->half[which];
    struct ferry__reshape plan;
    struct part from, to;
    uint64_t mark = 0;
    int err = part_of(source, which, &from);

    if (!err)
        err = part_of(b, which, &to);
    if (!err)
        err = ferry__reshape_plan(b, source->shape.shaped ? source->shape.rank : FERRY_UNSHAPED,
                                  ferry__shape_dims(&source->shape), &plan);
    if (err)
        return err;
    if (plan.grown[which]) {
        to.m = plan.grown[which];
        to.offset = 0;
    } else if (half->limit == SIZE_MAX && plan.bytes > ferry__blob_bytes(b)) {
        mark = ferry__memory_mark(to.m);
        ferry__memory_set_used(to.m, half, plan.bytes);
        to.regains = true;
    }
    to.bytes = plan.bytes;
    err = copy_part(&to, &from, plan.shape.count);
    if (!err) {
        ferry__reshape_commit(b, &plan);
        return 0;
    }
    if (to.regains) {
        ferry__memory_set_used(to.m, half, ferry__blob_bytes(b));
        ferry__memory_regain(to.m, mark);
    }
    ferry__reshape_abandon(&plan);
    return err;
}

static int refuse_shapes(const ferry_blob *b, const ferry_blob *source)
{
    char ours[1024] = "?", theirs[1024] = "?";

    ferry__shape_string(&b->shape, ours, sizeof ours);
    ferry__shape_string(&source->shape, theirs, sizeof theirs);
    return ferry__error(FERRY_ESHAPE, "copy: the source's shape is %s, not %s", theirs, ours);
}

static int copy_once(ferry_blob *b, const ferry_blob *source, unsigned flags)
{
    enum ferry__which which = flags & FERRY_COPY_DIFF ? FERRY__DIFF : FERRY__DATA;

    if (ferry__shape_equal(&b->shape, &source->shape))
        return copy_equal(b, source, which);
    return flags & FERRY_COPY_RESHAPE ? copy_reshaped(b, source, which) : refuse_shapes(b, source);
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
    err = copy_once(b, source, flags);
    return again(source, flags & FERRY_COPY_DIFF ? FERRY__DIFF : FERRY__DATA, err)
               ? copy_once(b, source, flags)
               : err;
}
