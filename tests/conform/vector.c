/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* axpy, scal, copy, fill: one result per element. */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define GUARD         8 /* elements on either side that must not change */

static const int64_t offsets[] = { 0, 1, 3, 8 }; /* elements */

/* Operands on both sides: values, their mirrors, and buffers for the expected results. */
struct operands {
    ferry_dtype t;
    int64_t n, at;
    struct mirror x, y;
    long double *want, *tolerance;
};

static uint64_t byte_at(const struct operands *o, int64_t element)
{
    return (uint64_t)element * arith_size(o->t);
}

static void operands_create(struct operands *o, ferry_dtype t, int64_t n, int64_t at)
{
    int64_t first = kit_first(at + GUARD, arith_size(t)), all = first + n + GUARD;
    uint64_t bytes = (uint64_t)all * arith_size(t);

    memset(o, 0, sizeof(*o));
    o->t = t;
    o->n = n;
    o->at = first;
    mirror_make(&o->x, bytes, 1);
    mirror_make(&o->y, bytes, 2);
    /* Fills operands with numbers: a pattern of bytes would contain signalling NaNs, which a copy
     * must not change. */
    arith_random(t, o->x.want, all, 2, (unsigned)n);
    arith_random(t, o->y.want, all, 3, (unsigned)n + 1);
    o->want = kit_host((size_t)n * sizeof(*o->want));
    o->tolerance = kit_host((size_t)n * sizeof(*o->tolerance));
}

static void operands_upload(struct operands *o)
{
    mirror_upload(&o->x);
    mirror_upload(&o->y);
}

static void operands_destroy(struct operands *o)
{
    mirror_destroy(&o->x);
    mirror_destroy(&o->y);
    free(o->want);
    free(o->tolerance);
}

static long double x_of(const struct operands *o, int64_t i)
{
    return arith_get(o->t, o->x.want, o->at + i);
}

static long double y_of(const struct operands *o, int64_t i)
{
    return arith_get(o->t, o->y.want, o->at + i);
}

/* Special values: one operand gets them from `table` in rotation. */
static void put_specials(struct operands *o, struct mirror *m, int stride)
{
    long double least = kit_least_normal(o->t);
    const long double table[] = { NAN,  INFINITY, -INFINITY, 0.0L,   -0.0L,
                                  1.0L, -1.0L,    least,     -least, least * 0.25L };

    for (int64_t i = 0; i < o->n; i++)
        arith_put(o->t, m->want, o->at + i, table[(i / stride) % LENGTH(table)]);
}

/* An exact zero has a sign, which products and sums of zeros define. */
static void check_zero_signs(const struct operands *o, const struct mirror *m)
{
    for (int64_t i = 0; i < o->n; i++) {
        long double got = arith_get(o->t, m->want, o->at + i);

        if (got == 0 && o->tolerance[i] == 0 && o->want[i] == 0 &&
            !signbit(got) != !signbit(o->want[i]))
            kit_fail("element %" PRId64 " is %s0, should be %s0", i, signbit(got) ? "-" : "+",
                     signbit(o->want[i]) ? "-" : "+");
    }
}

/* Numbers so small that a device may flush them, as operand or result. */
static long double flush_room(const struct operands *o, long double a, long double b)
{
    long double least = kit_least_normal(o->t);
    bool small = (a != 0 && fabsl(a) < 2 * least) || (b != 0 && fabsl(b) < 2 * least);

    return small ? 4 * least : 0;
}

/* ---- axpy ----------------------------------------------------------------------------------- */

static bool axpy(struct operands *o, double alpha)
{
    kit_case("axpy %s, n = %" PRId64 ", at element %" PRId64 ", alpha = %g", kit_dtype_name(o->t),
             o->n, o->at, alpha);
    if (!kit_done(kit.ops.axpy(kit.dev, NULL, o->t, o->n, alpha,
                               mirror_cref(&o->x, byte_at(o, o->at)),
                               mirror_ref(&o->y, byte_at(o, o->at))),
                  FERRY_OP_AXPY, o->t, "axpy"))
        return false;
    kit_wait(NULL);
    return true;
}

static bool axpy_case(ferry_dtype t, int64_t n, int64_t at, double alpha)
{
    struct operands o;
    bool done;

    operands_create(&o, t, n, at);
    operands_upload(&o);
    for (int64_t i = 0; i < n; i++) {
        long double product = (long double)alpha * x_of(&o, i);

        o.want[i] = y_of(&o, i) + product;
        /* the dtype rounds alpha, then the product, then the sum */
        o.tolerance[i] = kit_tolerance(t, o.want[i]) + 2 * kit_tolerance(t, product);
    }
    done = axpy(&o, alpha);
    if (done) {
        mirror_check_numbers(&o.y, t, byte_at(&o, o.at), n, o.want, o.tolerance);
        kit_case("axpy %s: x, which is only read", kit_dtype_name(t));
        mirror_check(&o.x);
    }
    operands_destroy(&o);
    return done;
}

/* NaN, infinities, zeros of both signs, the smallest numbers: every combination. */
static void axpy_specials(ferry_dtype t, double alpha)
{
    struct operands o;

    operands_create(&o, t, 107, 0);
    put_specials(&o, &o.x, 1);
    put_specials(&o, &o.y, 10);
    operands_upload(&o);
    for (int64_t i = 0; i < o.n; i++) {
        long double product = (long double)alpha * x_of(&o, i);
        long double room = flush_room(&o, x_of(&o, i), y_of(&o, i));

        o.want[i] = y_of(&o, i) + product;
        o.tolerance[i] = room;
        if (o.want[i] != 0 && isfinite(o.want[i]))
            o.tolerance[i] += kit_tolerance(t, o.want[i]) + kit_tolerance(t, product);
    }
    axpy(&o, alpha);
    mirror_check_numbers(&o.y, t, byte_at(&o, o.at), o.n, o.want, o.tolerance);
    check_zero_signs(&o, &o.y);
    operands_destroy(&o);
}

static void axpy_with_itself(ferry_dtype t)
{
    struct operands o;
    ferry_ref y;

    operands_create(&o, t, 1000, 1);
    operands_upload(&o);
    y = mirror_ref(&o.y, byte_at(&o, o.at));
    for (int64_t i = 0; i < o.n; i++) {
        o.want[i] = 1.5L * y_of(&o, i);
        o.tolerance[i] = 2 * kit_tolerance(t, o.want[i]);
    }
    kit_case("axpy %s with x = y, n = 1000, alpha = 0.5", kit_dtype_name(t));
    kit_ok(kit.ops.axpy(kit.dev, NULL, t, o.n, 0.5, ferry_ref_const(y), y), "axpy");
    kit_wait(NULL);
    mirror_check_numbers(&o.y, t, byte_at(&o, o.at), o.n, o.want, o.tolerance);
    operands_destroy(&o);
}

/* y += y on all of a block. */
static void axpy_whole(struct mirror *m)
{
    float *y = (float *)(void *)m->want;
    int64_t n = (int64_t)(m->bytes / sizeof(*y));

    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(i % 100);
    mirror_upload(m);
    kit_case("axpy F32 on all of a block of %" PRIu64 " bytes", m->bytes);
    kit_ok(kit.ops.axpy(kit.dev, NULL, FERRY_F32, n, 1, mirror_cref(m, 0), mirror_ref(m, 0)),
           "axpy");
    kit_wait(NULL);
    for (int64_t i = 0; i < n; i++)
        y[i] *= 2;
    mirror_check(m);
}

/* axpy with alpha 0 must not change a finite y, whatever x is. */
static void axpy_by_zero(ferry_dtype t)
{
    struct operands o;

    operands_create(&o, t, 100, 0);
    operands_upload(&o);
    for (int64_t i = 0; i < o.n; i++) {
        o.want[i] = y_of(&o, i);
        o.tolerance[i] = 0;
    }
    axpy(&o, 0);
    mirror_check_numbers(&o.y, t, byte_at(&o, o.at), o.n, o.want, o.tolerance);
    operands_destroy(&o);
}

/*
 * Runs an operation's cases on each dtype with arithmetic; returns the mask of those that were
 * performed.
 */
static uint32_t for_real_dtypes(uint32_t op, bool (*every_size)(ferry_dtype t),
                                void (*more)(ferry_dtype t))
{
    uint32_t mask = 0;

    for (uint32_t t = FERRY_F32; t <= FERRY_BF16; t++) {
        if (!kit_supports(op, t) || !every_size((ferry_dtype)t))
            continue;
        more((ferry_dtype)t);
        mask |= 1u << t;
    }
    return mask;
}

static bool axpy_sizes(ferry_dtype t)
{
    static const double alphas[] = { 1, -1.25, 0.5, -3 };

    for (size_t i = 0; i < kit_count_count; i++)
        for (int k = 0; k < (kit_counts[i] > 5000 ? 1 : LENGTH(offsets)); k++)
            if (!axpy_case(t, kit_counts[i], offsets[k], alphas[(i + (size_t)k) % 4]))
                return false;
    return true;
}

static void axpy_more(ferry_dtype t)
{
    axpy_case(t, 1000, 0, 0.1); /* not exact in any dtype */
    axpy_specials(t, 1);
    axpy_specials(t, -2);
    axpy_with_itself(t);
    axpy_by_zero(t);
}

void group_axpy(void)
{
    uint32_t done;

    kit_open();
    done = for_real_dtypes(FERRY_OP_AXPY, axpy_sizes, axpy_more);
    kit_case("axpy F32");
    if (!(done & 1))
        kit_fail("not supported although it is mandatory");
    for (uint64_t bytes = 4; bytes <= 4096; bytes *= 4)
        mirror_crowd(bytes, axpy_whole);
    kit_large_axpy();
    kit_far_axpy();
    kit_remark("%s", kit_dtype_list(done));
}

/* ---- scal ----------------------------------------------------------------------------------- */

static bool scal(struct operands *o, double alpha)
{
    kit_case("scal %s, n = %" PRId64 ", at element %" PRId64 ", alpha = %g", kit_dtype_name(o->t),
             o->n, o->at, alpha);
    if (!kit_done(
            kit.ops.scal(kit.dev, NULL, o->t, o->n, alpha, mirror_ref(&o->y, byte_at(o, o->at))),
            FERRY_OP_SCAL, o->t, "scal"))
        return false;
    kit_wait(NULL);
    return true;
}

static bool scal_case(ferry_dtype t, int64_t n, int64_t at, double alpha, bool special)
{
    struct operands o;
    bool done;

    operands_create(&o, t, n, at);
    if (special)
        put_specials(&o, &o.y, 1);
    operands_upload(&o);
    for (int64_t i = 0; i < n; i++) {
        o.want[i] = (long double)alpha * y_of(&o, i);
        o.tolerance[i] = special ? flush_room(&o, y_of(&o, i), 0) : kit_tolerance(t, o.want[i]);
    }
    done = scal(&o, alpha);
    if (done) {
        mirror_check_numbers(&o.y, t, byte_at(&o, o.at), n, o.want, o.tolerance);
        if (alpha != 0)
            check_zero_signs(&o, &o.y);
    }
    operands_destroy(&o);
    return done;
}

static bool scal_sizes(ferry_dtype t)
{
    static const double alphas[] = { 3, -0.5, 1, -1.25 };

    for (size_t i = 0; i < kit_count_count; i++)
        for (int k = 0; k < (kit_counts[i] > 5000 ? 1 : LENGTH(offsets)); k++)
            if (!scal_case(t, kit_counts[i], offsets[k], alphas[(i + (size_t)k) % 4], false))
                return false;
    return true;
}

/* NaN and infinity times 0 are NaN: x *= alpha has no special case. */
static void scal_more(ferry_dtype t)
{
    scal_case(t, 107, 0, -2, true);
    scal_case(t, 107, 0, 0, true);
}

void group_scal(void)
{
    uint32_t done;

    kit_open();
    if (!kit.ops.scal)
        kit_not_offered("no scal entry; ferry computes on the host");
    done = for_real_dtypes(FERRY_OP_SCAL, scal_sizes, scal_more);
    if (!done)
        kit_not_offered("scal supports no dtype; ferry computes on the host");
    kit_large_scal();
    kit_remark("%s", kit_dtype_list(done));
}

/* ---- copy ----------------------------------------------------------------------------------- */

static bool copy_case(ferry_dtype t, int64_t n, int64_t at)
{
    struct operands o;
    int64_t from;
    bool done;

    operands_create(&o, t, n, at);
    from = o.at - kit_first(2, arith_size(t));
    kit_pattern(o.x.want, o.x.bytes, (unsigned)n); /* NaNs of every kind, which a copy preserves */
    operands_upload(&o);
    kit_case("copy %s, n = %" PRId64 ", at element %" PRId64, kit_dtype_name(t), n, o.at);
    done = kit_done(kit.ops.copy(kit.dev, NULL, t, n, mirror_cref(&o.x, byte_at(&o, from)),
                                 mirror_ref(&o.y, byte_at(&o, o.at))),
                    FERRY_OP_COPY, t, "copy");
    if (done) {
        kit_wait(NULL);
        o.y.begin = byte_at(&o, o.at);
        o.y.end = byte_at(&o, o.at + n);
        memcpy(o.y.want + o.y.begin, o.x.want + byte_at(&o, from), byte_at(&o, n));
        mirror_check(&o.y);
    }
    operands_destroy(&o);
    return done;
}

void group_copy_op(void)
{
    uint32_t mask = 0;

    kit_open();
    if (!kit.ops.copy)
        kit_not_offered("no copy entry; ferry uses memcpy D2D");
    for (uint32_t t = 0; t < FERRY_DTYPE_COUNT; t++) {
        bool done = kit_supports(FERRY_OP_COPY, t);

        for (size_t i = 0; i < kit_count_count && done; i++)
            done = copy_case((ferry_dtype)t, kit_counts[i], offsets[i % 4]);
        mask |= (uint32_t)done << t;
    }
    if (!mask)
        kit_not_offered("copy supports no dtype; ferry uses memcpy D2D");
    kit_large_copy();
    kit_remark("%s", kit_dtype_list(mask));
}

/* ---- fill ----------------------------------------------------------------------------------- */

static bool fill_case(ferry_dtype t, int64_t n, int64_t at, double value)
{
    size_t size = arith_size(t);
    struct operands o;
    bool done;

    operands_create(&o, t, n, at);
    operands_upload(&o);
    kit_case("fill %s, n = %" PRId64 ", at element %" PRId64 ", value = %g", kit_dtype_name(t), n,
             o.at, value);
    done = kit_done(kit.ops.fill(kit.dev, NULL, t, n, value, mirror_ref(&o.y, byte_at(&o, o.at))),
                    FERRY_OP_FILL, t, "fill");
    if (done && isnan(value)) {
        kit_wait(NULL);
        for (int64_t i = 0; i < n; i++) {
            o.want[i] = NAN;
            o.tolerance[i] = 0;
        }
        mirror_check_numbers(&o.y, t, byte_at(&o, o.at), n, o.want, o.tolerance);
    } else if (done) {
        kit_wait(NULL);
        for (int64_t i = 0; i < n; i++)
            arith_put(t, o.y.want, o.at + i, (long double)value);
        o.y.begin = byte_at(&o, o.at);
        o.y.end = o.y.begin + (uint64_t)n * size;
        mirror_check(&o.y);
    }
    operands_destroy(&o);
    return done;
}

static bool fill_dtype(ferry_dtype t)
{
    static const double whole[] = { 0, 1, 100, 127 }, real[] = { 0, -1.5, 0.125, 2048 };
    static const double special[] = { NAN, INFINITY, -INFINITY, -0.0 };
    const double *values = arith_is_real(t) ? real : whole;

    for (size_t i = 0; i < kit_count_count; i++)
        if (!fill_case(t, kit_counts[i], offsets[i % 4], values[i % 4]))
            return false;
    for (int i = 0; i < LENGTH(special) && arith_is_real(t); i++)
        fill_case(t, 100, 1, special[i]);
    if (t == FERRY_I8)
        fill_case(t, 100, 1, -128);
    if (t == FERRY_I32)
        fill_case(t, 100, 1, INT32_MIN);
    if (t == FERRY_I64)
        fill_case(t, 100, 1, -0x1p60);
    if (t == FERRY_U32)
        fill_case(t, 100, 1, UINT32_MAX);
    return true;
}

void group_fill(void)
{
    uint32_t mask = 0;

    kit_open();
    if (!kit.ops.fill)
        kit_not_offered("no fill entry; ferry uses memset, or fills on the host");
    for (uint32_t t = 0; t < FERRY_DTYPE_COUNT; t++)
        if (kit_supports(FERRY_OP_FILL, t) && fill_dtype((ferry_dtype)t))
            mask |= 1u << t;
    if (!mask)
        kit_not_offered("fill supports no dtype; ferry fills on the host");
    kit_large_fill();
    kit_remark("%s", kit_dtype_list(mask));
}
