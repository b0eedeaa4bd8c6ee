/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Elements of every dtype, and the permitted errors. */

const int64_t kit_counts[] = { 1,   2,   3,   4,   5,   6,    7,    8,    9,    12,   15,   16,
                               17,  31,  32,  33,  63,  64,   65,   100,  127,  128,  129,  255,
                               256, 257, 511, 513, 999, 1000, 1024, 1025, 4095, 4096, 4097, 65537 };
const size_t kit_count_count = sizeof(kit_counts) / sizeof(kit_counts[0]);

const long double kit_special[] = {
    0.0L,          -0.0L,         0.5L,           1.5L,
    2.5L,          -0.5L,         -1.5L,          -2.5L,
    126.5L,        127.5L,        127.0L,         128.0L,
    129.0L,        -128.0L,       -128.5L,        -129.0L,
    254.5L,        255.0L,        255.5L,         256.0L,
    300.0L,        -1.0L,         -300.0L,        2047.0L,
    2049.0L,       2051.0L,       257.0L,         259.0L,
    65504.0L,      65519.0L,      65520.0L,       65536.0L,
    0x1p-14L,      0x1p-15L,      0x1p-24L,       0x1.8p-24L,
    0x1p-25L,      0x1.8p-25L,    0x1p-26L,       16777217.0L,
    16777219.0L,   2147483647.0L, 2147483648.0L,  4294967295.0L,
    4294967295.5L, 4294967296.0L, -2147483648.0L, -2147483649.0L,
    0x1p53L,       0x1p53L + 1,   0x1p53L + 3,    9223372036854775807.0L,
    0x1p63L,       -0x1p63L,      0x1p64L,        1e10L,
    -1e10L,        3e38L,         3.5e38L,        1e300L,
    -1e300L,       NAN,           INFINITY,       -INFINITY,
    0x1.01p0L,     0x1.03p0L,     0x1.002p0L,     0x1.006p0L,
    1.0L / 3,
};
const int64_t kit_special_count = sizeof(kit_special) / sizeof(kit_special[0]);

const char *kit_dtype_name(uint32_t dtype)
{
    static const char *const names[] = { "F32", "F64", "F16", "BF16", "I8",
                                         "U8",  "I32", "I64", "U32" };

    return dtype < FERRY_DTYPE_COUNT ? names[dtype] : "?";
}

const char *kit_dtype_list(uint32_t mask)
{
    static char list[64];
    size_t n = 0;

    list[0] = '\0';
    for (uint32_t t = 0; t < FERRY_DTYPE_COUNT; t++)
        if (mask >> t & 1)
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? " " : "",
                                  kit_dtype_name(t));
    return list;
}

long double kit_least_normal(ferry_dtype dtype)
{
    static const long double least[] = { 0x1p-126L, 0x1p-1022L, 0x1p-14L, 0x1p-126L };

    return dtype <= FERRY_BF16 ? least[dtype] : 0;
}

/* One rounding of a value of that magnitude, with a small margin for the reference's own. */
long double kit_tolerance(ferry_dtype dtype, long double magnitude)
{
    return 0.51L * (long double)arith_epsilon(dtype) * fabsl(magnitude) +
           0x1p-1074L * (dtype == FERRY_F64) + 0x1p-149L * (dtype == FERRY_F32) +
           0x1p-24L * (dtype == FERRY_F16) + 0x1p-133L * (dtype == FERRY_BF16);
}

void mirror_check_numbers(struct mirror *m, ferry_dtype dtype, uint64_t offset, int64_t n,
                          const long double *want, const long double *tolerance)
{
    size_t size = arith_size(dtype);

    mirror_download(m);
    for (int64_t i = 0; i < n; i++) {
        long double got;

        /* An element in the mirror need not be aligned on the host. */
        char one[8];

        memcpy(one, m->got + offset + (size_t)i * size, size);
        got = arith_get(dtype, one, 0);
        if (!arith_near(got, want[i], tolerance[i]))
            kit_fail("element %" PRId64 " of %" PRId64 " is %.9Lg, should be %.9Lg", i, n, got,
                     want[i]);
    }
    m->begin = offset;
    m->end = offset + (uint64_t)n * size;
    memcpy(m->want + m->begin, m->got + m->begin, m->end - m->begin);
    mirror_check(m);
}

bool kit_done(int code, uint32_t op, uint32_t dtype, const char *entry)
{
    if (code == FERRY_EUNSUPPORTED) {
        if (kit.ops.supports && kit_supports(op, dtype))
            kit_fail("supports returned 1, but the call FERRY_EUNSUPPORTED");
        return false;
    }
    kit_ok(code, entry);
    return true;
}
