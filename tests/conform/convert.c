/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* convert: every dtype to every other, rounded once, to nearest even; integers saturate. */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define GUARD         8

/* The position of operands, in elements. */
static int64_t first(ferry_dtype t)
{
    return kit_first(GUARD, arith_size(t));
}

static bool is_real(ferry_dtype t)
{
    return arith_is_real(t) != 0;
}

/*
 * Numbers that a device may flush to zero on the way: denormal in a format that it processes in
 * F32.
 */
static long double flush_room(ferry_dtype from, ferry_dtype to, long double x)
{
    bool f32 = from == FERRY_F32 || to == FERRY_F32 || from == FERRY_BF16 || to == FERRY_BF16;

    if (!is_real(from) || !is_real(to) || x == 0 || !isfinite(x))
        return 0;
    return f32 && fabsl(x) < 2 * kit_least_normal(FERRY_F32) ? 2 * kit_least_normal(FERRY_F32) : 0;
}

static void check_element(ferry_dtype from, ferry_dtype to, const struct mirror *x,
                          const struct mirror *y, int64_t i)
{
    char exact[8];
    long double value = arith_get(from, x->want, first(from) + i), want, got;

    arith_put(to, exact, 0, value);
    want = arith_get(to, exact, 0);
    got = arith_get(to, y->got, first(to) + i);
    if (!arith_near(got, want, flush_room(from, to, value)))
        kit_fail("element %" PRId64 ", %.9Lg, became %.9Lg, should be %.9Lg", i, value, got, want);
    if (want == 0 && value == 0 && is_real(from) && is_real(to) && !signbit(got) != !signbit(want))
        kit_fail("element %" PRId64 ", %s0, lost its sign", i, signbit(value) ? "-" : "+");
}

/* Whether supports offers it: any value above 0. */
static bool is_offered(ferry_dtype from, ferry_dtype to)
{
    return kit.ops.supports_convert ? kit.ops.supports_convert(kit.dev, from, to) > 0
                                    : kit_supports(FERRY_OP_CONVERT, to);
}

static bool convert_case(ferry_dtype from, ferry_dtype to, int64_t n, bool specials)
{
    struct mirror x, y;
    bool done;
    int code;

    kit_case("convert %s to %s, n = %" PRId64, kit_dtype_name(from), kit_dtype_name(to), n);
    mirror_make(&x, (uint64_t)(n + first(from) + GUARD) * arith_size(from), 1);
    mirror_create(&y, (uint64_t)(n + first(to) + GUARD) * arith_size(to), 2);
    arith_random(from, x.want, n + first(from) + GUARD, 100, (unsigned)n);
    for (int64_t i = 0; i < n && specials; i++)
        arith_put(from, x.want, first(from) + i, kit_special[i % kit_special_count]);
    mirror_upload(&x);
    code = kit.ops.convert(kit.dev, NULL, n, from,
                           mirror_cref(&x, (uint64_t)first(from) * arith_size(from)), to,
                           mirror_ref(&y, (uint64_t)first(to) * arith_size(to)));
    /* the plugin may be older than a dtype */
    done = (code != FERRY_EUNSUPPORTED || is_offered(from, to)) &&
           kit_done(code, FERRY_OP_CONVERT, from, "convert");
    if (done) {
        kit_wait(NULL);
        mirror_download(&y);
        for (int64_t i = 0; i < n; i++)
            check_element(from, to, &x, &y, i);
        y.begin = (uint64_t)first(to) * arith_size(to);
        y.end = y.begin + (uint64_t)n * arith_size(to);
        memcpy(y.want + y.begin, y.got + y.begin, y.end - y.begin);
        mirror_check(&y);
    }
    mirror_destroy(&x);
    mirror_destroy(&y);
    return done;
}

static bool convert_pair(ferry_dtype from, ferry_dtype to)
{
    static const int64_t counts[] = { 1, 3, 7, 8, 9, 31, 64, 65, 257, 1000, 70000 };

    for (int i = 0; i < LENGTH(counts); i++)
        if (!convert_case(from, to, counts[i], false))
            return false;
    return convert_case(from, to, kit_special_count, true);
}

void group_convert(void)
{
    int pairs = 0, all = FERRY_DTYPE_COUNT * (FERRY_DTYPE_COUNT - 1);

    kit_open();
    if (!kit.ops.convert)
        kit_not_offered("no convert entry; ferry converts on the host");
    for (uint32_t from = 0; from < FERRY_DTYPE_COUNT; from++) {
        if (!kit_supports(FERRY_OP_CONVERT, from))
            continue;
        for (uint32_t to = 0; to < FERRY_DTYPE_COUNT; to++)
            if (to != from &&
                (!kit.ops.supports_convert || is_offered((ferry_dtype)from, (ferry_dtype)to)))
                pairs += convert_pair((ferry_dtype)from, (ferry_dtype)to);
    }
    if (!pairs)
        kit_not_offered("convert supports no dtype; ferry converts on the host");
    kit_remark("%d of %d pairs of dtypes", pairs, all);
}
