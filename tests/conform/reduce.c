/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* dot, asum, sumsq: one element on the device, in queue order. */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Enough ones that a single F32 sum of all of them is wrong in the sixth digit. */
#define MANY (INT64_C(1) << 22)

struct reduction {
    const char *name;
    uint32_t op;
    int (*call)(uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y, ferry_ref result);
    long double (*term)(long double x, long double y);
    bool two;
};

static int call_dot(uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y, ferry_ref result)
{
    return kit.ops.dot(kit.dev, NULL, dtype, n, x, y, result);
}

static int call_asum(uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y, ferry_ref result)
{
    (void)y;
    return kit.ops.asum(kit.dev, NULL, dtype, n, x, result);
}

static int call_sumsq(uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y, ferry_ref result)
{
    (void)y;
    return kit.ops.sumsq(kit.dev, NULL, dtype, n, x, result);
}

static long double term_dot(long double x, long double y)
{
    return x * y;
}

static long double term_asum(long double x, long double y)
{
    (void)y;
    return fabsl(x);
}

static long double term_sumsq(long double x, long double y)
{
    (void)y;
    return x * x;
}

static const struct reduction dot = { "dot", FERRY_OP_DOT, call_dot, term_dot, true };
static const struct reduction asum = { "asum", FERRY_OP_ASUM, call_asum, term_asum, false };
static const struct reduction sumsq = { "sumsq", FERRY_OP_SUMSQ, call_sumsq, term_sumsq, false };

/* The dtype of the result of a reduction on that dtype. */
static ferry_dtype result_dtype(ferry_dtype t)
{
    return t == FERRY_F64 ? FERRY_F64 : FERRY_F32;
}

static long double sum_of(const struct reduction *r, ferry_dtype t, const struct mirror *x,
                          const struct mirror *y, int64_t n, int64_t at, long double *magnitude)
{
    long double sum = 0;

    *magnitude = 0;
    if (n == MANY) { /* equal values, whose sum is exact */
        sum = MANY * r->term(arith_get(t, x->want, at), arith_get(t, y->want, at));
        *magnitude = fabsl(sum);
        return sum;
    }
    for (int64_t i = at; i < at + n; i++) {
        long double term = r->term(arith_get(t, x->want, i), arith_get(t, y->want, i));

        sum += term;
        *magnitude += fabsl(term);
    }
    return sum;
}

/* Runs it over elements at … at + n − 1 and compares. */
static bool reduce(const struct reduction *r, ferry_dtype t, struct mirror *x, struct mirror *y,
                   int64_t n, int64_t at)
{
    size_t size = arith_size(t), result_size = arith_size(result_dtype(t));
    uint64_t to = (uint64_t)kit_first(2, result_size) * result_size;
    long double want, magnitude, tolerance;
    struct mirror result;
    bool done;

    want = sum_of(r, t, x, y, n, at, &magnitude);
    /* F64 may be accumulated sequentially; narrower types may not */
    tolerance = magnitude * (t == FERRY_F64 ? 0x1p-53L * (long double)(n + 4) : 1e-6L);
    if (!isfinite(want))
        tolerance = 0;
    mirror_create(&result, to + 64, 9);
    done = kit_done(r->call(t, n, mirror_cref(x, (uint64_t)at * size),
                            mirror_cref(y, (uint64_t)at * size), mirror_ref(&result, to)),
                    r->op, t, r->name);
    if (done) {
        kit_wait(NULL);
        mirror_check_numbers(&result, result_dtype(t), to, 1, &want, &tolerance);
    }
    mirror_destroy(&result);
    return done;
}

static bool sizes(const struct reduction *r, ferry_dtype t, struct mirror *x, struct mirror *y)
{
    static const int64_t offsets[] = { 0, 1, 3, 8 };

    for (size_t i = 0; i < kit_count_count; i++)
        for (int k = 0; k < LENGTH(offsets); k++) {
            int64_t at = kit_first(offsets[k], arith_size(t));

            kit_case("%s %s, n = %" PRId64 ", at element %" PRId64, r->name, kit_dtype_name(t),
                     kit_counts[i], at);
            if (!reduce(r, t, x, y, kit_counts[i], at))
                return false;
        }
    kit_case("%s %s: its operands, which are only read", r->name, kit_dtype_name(t));
    mirror_check(x);
    mirror_check(y);
    return true;
}

static void special_value(const struct reduction *r, ferry_dtype t, struct mirror *x,
                          struct mirror *y, long double value)
{
    char kept[8];
    size_t size = arith_size(t);

    memcpy(kept, x->want + 37 * size, size);
    arith_put(t, x->want, 37, value);
    mirror_upload(x);
    kit_case("%s %s, n = 100, with one element %Lg", r->name, kit_dtype_name(t), value);
    reduce(r, t, x, y, 100, 0);
    memcpy(x->want + 37 * size, kept, size);
    mirror_upload(x);
}

/* A long sum of one sign: a device that accumulates sequentially in F32 fails here. */
static void long_sum(const struct reduction *r, ferry_dtype t)
{
    struct mirror x;

    kit_case("%s %s, n = 2^22 of about 0.1: the relative error must stay below 1e-6", r->name,
             kit_dtype_name(t));
    mirror_make(&x, (uint64_t)MANY * arith_size(t), 3);
    arith_put(t, x.want, 0, 0.1L);
    for (int64_t i = 1; i < MANY; i++)
        memcpy(x.want + (size_t)i * arith_size(t), x.want, arith_size(t));
    mirror_upload(&x);
    reduce(r, t, &x, &x, MANY, 0);
    mirror_destroy(&x);
}

static bool dtype(const struct reduction *r, ferry_dtype t)
{
    int64_t most = kit_counts[kit_count_count - 1] + kit_first(16, arith_size(t));
    struct mirror x, y;
    bool done;

    kit_case("%s %s", r->name, kit_dtype_name(t));
    mirror_make(&x, (uint64_t)most * arith_size(t), 1);
    mirror_make(&y, (uint64_t)most * arith_size(t), 2);
    arith_random(t, x.want, most, 2, 1);
    arith_random(t, y.want, most, 2, 2);
    mirror_upload(&x);
    mirror_upload(&y);
    done = sizes(r, t, &x, &y);
    if (done) {
        special_value(r, t, &x, &y, NAN);
        special_value(r, t, &x, &y, INFINITY);
        special_value(r, t, &x, &y, -INFINITY);
        if (r->two) {
            kit_case("dot %s of a vector with itself", kit_dtype_name(t));
            reduce(r, t, &x, &x, 1000, kit_first(1, arith_size(t)));
        }
        long_sum(r, t);
    }
    mirror_destroy(&x);
    mirror_destroy(&y);
    return done;
}

static void group(const struct reduction *r, bool there)
{
    uint32_t mask = 0;

    if (!there)
        kit_not_offered("no %s entry; ferry computes on the host", r->name);
    for (uint32_t t = FERRY_F32; t <= FERRY_BF16; t++)
        if (kit_supports(r->op, t) && dtype(r, (ferry_dtype)t))
            mask |= 1u << t;
    if (!mask)
        kit_not_offered("%s supports no dtype; ferry computes on the host", r->name);
    kit_remark("%s", kit_dtype_list(mask));
}

void group_dot(void)
{
    kit_open();
    group(&dot, kit.ops.dot != NULL);
}

void group_asum(void)
{
    kit_open();
    group(&asum, kit.ops.asum != NULL);
}

void group_sumsq(void)
{
    kit_open();
    group(&sumsq, kit.ops.sumsq != NULL);
}
