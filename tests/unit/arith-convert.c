/* SPDX-License-Identifier: BSD-2-Clause */
#include "arith.h"

#include "ferry-test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cases of fill and convert. */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static int same(ferry_dtype t, const void *a, const void *b, int64_t i)
{
    long double left = arith_get(t, a, i), right = arith_get(t, b, i);

    if (isnan(left) || isnan(right))
        return isnan(left) && isnan(right);
    return left == right && !signbit(left) == !signbit(right);
}

/* ---- fill ----------------------------------------------------------------------------------- */

void fill_rounds_to_the_dtype(void)
{
    static const struct {
        ferry_dtype t;
        double value;
        int result;
        long double want;
    } table[] = {
        { FERRY_I8, 127, 0, 127 },
        { FERRY_I8, 127.49, 0, 127 },
        { FERRY_I8, 127.5, FERRY_EOVERFLOW, 0 },
        { FERRY_I8, -128.5, 0, -128 },
        { FERRY_I8, -128.6, FERRY_EOVERFLOW, 0 },
        { FERRY_I8, 2.5, 0, 2 },
        { FERRY_I8, 3.5, 0, 4 },
        { FERRY_U8, -0.5, 0, 0 },
        { FERRY_U8, -0.6, FERRY_EOVERFLOW, 0 },
        { FERRY_U8, 255.4, 0, 255 },
        { FERRY_U8, 256, FERRY_EOVERFLOW, 0 },
        { FERRY_I32, 2147483647, 0, 2147483647 },
        { FERRY_I32, 2147483648.0, FERRY_EOVERFLOW, 0 },
        { FERRY_I32, -2147483648.0, 0, -2147483648.0L },
        { FERRY_I64, 0x1p63, FERRY_EOVERFLOW, 0 },
        { FERRY_I64, -0x1p63, 0, -0x1p63L },
        { FERRY_I64, 0x1p62, 0, 0x1p62L },
        { FERRY_I64, (double)INFINITY, FERRY_EOVERFLOW, 0 },
        { FERRY_I32, (double)NAN, FERRY_EOVERFLOW, 0 },
        { FERRY_U32, -0.5, 0, 0 },
        { FERRY_U32, -1, FERRY_EOVERFLOW, 0 },
        { FERRY_U32, 4294967295.0, 0, 4294967295.0L },
        { FERRY_U32, 4294967295.5, FERRY_EOVERFLOW, 0 },
        { FERRY_F16, 65519, 0, 65504 },
        { FERRY_F16, 65520, 0, (long double)INFINITY },
        { FERRY_BF16, 1.00390625, 0, 1 },
        { FERRY_F32, 0.1, 0, 0.1f },
        { FERRY_F64, 0.1, 0, 0.1 },
    };

    for (int i = 0; i < COUNT(table); i++) {
        double y[3] = { 0, 0, 0 };
        ferry_dtype t = table[i].t;

        CU_ASSERT_EQUAL(arith->fill(t, 3, table[i].value, y), table[i].result);
        CU_ASSERT_EQUAL(arith_get(t, y, 0), table[i].want);
        CU_ASSERT_EQUAL(arith_get(t, y, 2), table[i].want);
    }
}

void fill_is_right_at_every_size_and_offset(void)
{
    static const int64_t sizes[] = { 1, 2, 7, 8, 15, 63, 64, 65, 257, 65537, 300000 };
    static double space[300020];

    for (int t = 0; t < FERRY_DTYPE_COUNT; t++) {
        ferry_dtype dtype = (ferry_dtype)t;

        for (int i = 0; i < COUNT(sizes); i++) {
            size_t size = arith_size(dtype), at = (size_t)(i % 5 + 1) * size;
            int64_t n = sizes[i], wrong = 0;

            memset(space, 0, sizeof(space));
            CU_ASSERT_EQUAL(arith->fill(dtype, n, 3, (char *)space + at), 0);
            for (int64_t k = 0; k < n; k++)
                wrong += arith_get(dtype, (char *)space + at, k) != 3;
            CU_ASSERT_EQUAL(wrong, 0);
            CU_ASSERT_EQUAL(arith_get(dtype, (char *)space + at, -1), 0);
            CU_ASSERT_EQUAL(arith_get(dtype, (char *)space + at, n), 0);
        }
    }
}

/* ---- convert -------------------------------------------------------------------------------- */

/* Values at the limits of a dtype, and half way between two of its values. */
static const long double edges[] = { 0,
                                     0.5L,
                                     1.5L,
                                     2.5L,
                                     0.4999999L,
                                     126.5L,
                                     127,
                                     127.5L,
                                     128,
                                     128.5L,
                                     254.5L,
                                     255,
                                     255.5L,
                                     256,
                                     4294967295.0L,
                                     4294967295.5L,
                                     4294967296.0L,
                                     1.00390625L,
                                     1.01171875L,
                                     1.0039062501L,
                                     1.0039063L,
                                     2049,
                                     2051,
                                     2049.0001L,
                                     2049.000001L,
                                     65504,
                                     65519.99L,
                                     65520,
                                     65536,
                                     0x1p-14L,
                                     0x1p-24L,
                                     0x1p-25L,
                                     0x1.000002p-25L,
                                     0x1.8p-24L,
                                     0x1p-25L + 0x1p-60L,
                                     0x1p-126L,
                                     0x1p-133L,
                                     0x1p-134L,
                                     0x1p-149L,
                                     0x1p-150L,
                                     0x1p-1074L,
                                     16777216,
                                     16777217,
                                     16777219,
                                     2147483647,
                                     2147483648L,
                                     4294967296L,
                                     0x1p53L,
                                     0x1p53L + 1,
                                     0x1p62L,
                                     0x1p63L,
                                     0x1.fep62L,
                                     0x1.01p62L + 1,
                                     0x1.03p62L - 1,
                                     0x1.00000100000001p62L,
                                     0x1.fffffep127L,
                                     0x1.ffp127L,
                                     0x1.fep127L,
                                     0x1p128L,
                                     0x1p1023L,
                                     (long double)INFINITY,
                                     (long double)NAN,
                                     3.14159265358979L,
                                     1e-3L };

#define EDGES COUNT(edges)

void convert_rounds_once_between_all_dtypes(void)
{
    for (int from = 0; from < FERRY_DTYPE_COUNT; from++) {
        for (int to = 0; to < FERRY_DTYPE_COUNT; to++) {
            ferry_dtype xt = (ferry_dtype)from, yt = (ferry_dtype)to;
            double x[2 * EDGES], y[2 * EDGES], want[2 * EDGES];

            for (int i = 0; i < EDGES; i++) {
                arith_put(xt, x, 2 * i, edges[i]);
                arith_put(xt, x, 2 * i + 1, -edges[i]);
            }
            for (int i = 0; i < 2 * EDGES; i++)
                arith_put(yt, want, i, arith_get(xt, x, i));
            CU_ASSERT_EQUAL(arith->convert(2 * EDGES, xt, x, yt, y), 0);
            for (int i = 0; i < 2 * EDGES; i++) {
                CU_ASSERT(same(yt, y, want, i));
                if (!same(yt, y, want, i))
                    printf("     %d to %d: %.20Lg gives %.20Lg, not %.20Lg\n", from, to,
                           arith_get(xt, x, i), arith_get(yt, y, i), arith_get(yt, want, i));
            }
        }
    }
}

void convert_keeps_every_integer_exact(void)
{
    const int64_t x[] = { INT64_MAX, INT64_MIN, INT64_MAX - 1, (INT64_C(1) << 53) + 1, -5 };
    const int32_t least = INT32_MIN;
    int64_t y[5], wide = 0;
    int32_t narrow[5];
    uint8_t bytes[5];

    CU_ASSERT_EQUAL(arith->convert(5, FERRY_I64, x, FERRY_I64, y), 0);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
    CU_ASSERT_EQUAL(arith->convert(1, FERRY_I32, &least, FERRY_I64, &wide), 0);
    CU_ASSERT_EQUAL(wide, INT32_MIN);
    CU_ASSERT_EQUAL(arith->convert(5, FERRY_I64, x, FERRY_I32, narrow), 0);
    CU_ASSERT(narrow[0] == INT32_MAX && narrow[1] == INT32_MIN && narrow[3] == INT32_MAX);
    CU_ASSERT_EQUAL(narrow[4], -5);
    CU_ASSERT_EQUAL(arith->convert(5, FERRY_I64, x, FERRY_U8, bytes), 0);
    CU_ASSERT(bytes[0] == 255 && bytes[1] == 0 && bytes[4] == 0);
}

void convert_is_right_at_every_size_and_offset(void)
{
    static const int64_t sizes[] = { 1, 7, 8, 9, 255, 257, 511, 513, 1025, 70001 };
    static double x[70010], y[70010];

    for (int from = 0; from < FERRY_DTYPE_COUNT; from++) {
        for (int to = 0; to < FERRY_DTYPE_COUNT; to++) {
            ferry_dtype xt = (ferry_dtype)from, yt = (ferry_dtype)to;

            arith_random(xt, x, 70010, 100, 7);
            for (int i = 0; i < COUNT(sizes); i++) {
                const char *at_x = (const char *)x + (size_t)(i % 4) * arith_size(xt);
                char *at_y = (char *)y + (size_t)(i % 3 + 1) * arith_size(yt);
                int64_t n = sizes[i], wrong = 0;
                double want;

                arith_put(yt, at_y, -1, 77);
                arith_put(yt, at_y, n, 77);
                CU_ASSERT_EQUAL(arith->convert(n, xt, at_x, yt, at_y), 0);
                for (int64_t k = 0; k<n; k += n> 2000 ? 37 : 1) {
                    arith_put(yt, &want, 0, arith_get(xt, at_x, k));
                    wrong += arith_get(yt, &want, 0) != arith_get(yt, at_y, k);
                }
                CU_ASSERT_EQUAL(wrong, 0);
                CU_ASSERT(arith_get(yt, at_y, -1) == 77 && arith_get(yt, at_y, n) == 77);
            }
        }
    }
}

/* ---- half precision, all of it -------------------------------------------------------------- */

static uint16_t halves[65536];

static void for_each_half(void (*check)(ferry_dtype t))
{
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    check(FERRY_F16);
    check(FERRY_BF16);
}

static void check_widening(ferry_dtype t)
{
    static float wide[65536];
    static uint16_t back[65536];
    int wrong = 0;

    CU_ASSERT_EQUAL(arith->convert(65536, t, halves, FERRY_F32, wide), 0);
    CU_ASSERT_EQUAL(arith->convert(65536, FERRY_F32, wide, t, back), 0);
    for (int i = 0; i < 65536; i++) {
        long double want = arith_get(t, halves, i);

        wrong += !arith_near((long double)wide[i], want, 0);
        wrong += isnan(want) ? !isnan(arith_get(t, back, i)) : back[i] != halves[i];
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

void half_precision_widens_exactly(void)
{
    for_each_half(check_widening);
}

/*
 * Between each two neighbours, including the last finite value and infinity: the midpoint rounds to
 * the even one, and the next double on either side to the nearer one.
 */
static void check_middles(ferry_dtype t)
{
    static double x[3 * 65536];
    static uint16_t y[3 * 65536];
    int last = t == FERRY_F16 ? 0x7bff : 0x7f7f;
    int wrong = 0;

    for (int i = 0; i <= last; i++) {
        double low = (double)arith_get(t, halves, i);
        double high = i < last ? (double)arith_get(t, halves, i + 1)
                               : 2 * low - (double)arith_get(t, halves, i - 1);

        x[3 * i + 1] = (low + high) / 2;
        x[3 * i] = nextafter(x[3 * i + 1], 0);
        x[3 * i + 2] = nextafter(x[3 * i + 1], (double)INFINITY);
    }
    CU_ASSERT_EQUAL(arith->convert(3 * (last + 1), FERRY_F64, x, t, y), 0);
    for (int i = 0; i <= last; i++)
        wrong += y[3 * i] != i || y[3 * i + 1] != (i + 1) / 2 * 2 || y[3 * i + 2] != i + 1;
    CU_ASSERT_EQUAL(wrong, 0);
}

static void check_middles_of_floats(ferry_dtype t)
{
    static float x[65536];
    static uint16_t y[65536];
    int last = t == FERRY_F16 ? 0x7bff : 0x7f7f;
    int wrong = 0;

    for (int i = 0; i < last; i++)
        x[i] = -(float)((arith_get(t, halves, i) + arith_get(t, halves, i + 1)) / 2);
    CU_ASSERT_EQUAL(arith->convert(last, FERRY_F32, x, t, y), 0);
    for (int i = 0; i < last; i++)
        wrong += y[i] != (0x8000 | (i + 1) / 2 * 2);
    CU_ASSERT_EQUAL(wrong, 0);
}

void half_precision_rounds_the_middle_to_even(void)
{
    for_each_half(check_middles);
    for_each_half(check_middles_of_floats);
}
