/* SPDX-License-Identifier: BSD-2-Clause */
#include "arith.h"

#include <math.h>
#include <string.h>

const struct arith *arith;

/* Significant bits, least exponent of a normal number, and the bits of the exponent above it. */
struct format {
    int bits, least, all_ones;
};

static const struct format f16 = { 11, -14, 31 };
static const struct format bf16 = { 8, -126, 255 };

size_t arith_size(ferry_dtype t)
{
    static const size_t size[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };

    return size[t];
}

int arith_is_real(ferry_dtype t)
{
    return t <= FERRY_BF16;
}

double arith_epsilon(ferry_dtype t)
{
    static const double epsilon[] = { 0x1p-23, 0x1p-52, 0x1p-10, 0x1p-7 };

    return arith_is_real(t) ? epsilon[t] : 0;
}

static long double decode(struct format f, uint16_t half)
{
    int fraction_bits = f.bits - 1;
    int fraction = half & ((1 << fraction_bits) - 1);
    int exponent = (half & 0x7fff) >> fraction_bits;
    long double value;

    if (exponent == f.all_ones)
        value = fraction ? (long double)NAN : (long double)INFINITY;
    else if (exponent == 0)
        value = ldexpl(fraction, f.least - fraction_bits);
    else
        value = ldexpl(fraction + (1 << fraction_bits), exponent - 1 + f.least - fraction_bits);
    return half & 0x8000 ? -value : value;
}

/*
 * Scales the value so that the last kept bit counts 1, rounds it by the machine's mode, and
 * assembles the bits.
 */
static uint16_t encode(struct format f, long double value)
{
    int fraction_bits = f.bits - 1, exponent = 0;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    long whole;

    if (isnan(value))
        return (uint16_t)(sign | f.all_ones << fraction_bits | 1 << (fraction_bits - 1));
    value = fabsl(value);
    if (isinf(value))
        return (uint16_t)(sign | f.all_ones << fraction_bits);
    frexpl(value, &exponent);
    exponent -= 1;
    if (value == 0 || exponent < f.least)
        exponent = f.least;
    if (exponent > f.all_ones - 1 + f.least - 1)
        return (uint16_t)(sign | f.all_ones << fraction_bits);
    whole = lrintl(ldexpl(value, fraction_bits - exponent));
    /* A carry out of the fraction increments the exponent, up to infinity. */
    return (uint16_t)(sign | (((long)(exponent - f.least) << fraction_bits) + whole));
}

long double arith_get(ferry_dtype t, const void *p, int64_t i)
{
    switch (t) {
    case FERRY_F32:
        return ((const float *)p)[i];
    case FERRY_F64:
        return ((const double *)p)[i];
    case FERRY_F16:
        return decode(f16, ((const uint16_t *)p)[i]);
    case FERRY_BF16:
        return decode(bf16, ((const uint16_t *)p)[i]);
    case FERRY_I8:
        return ((const int8_t *)p)[i];
    case FERRY_U8:
        return ((const uint8_t *)p)[i];
    case FERRY_I32:
        return ((const int32_t *)p)[i];
    case FERRY_I64:
        return ((const int64_t *)p)[i];
    case FERRY_U32:
        return ((const uint32_t *)p)[i];
    }
    return 0;
}

static int64_t to_integer(long double value, int64_t low, int64_t high)
{
    if (isnan(value))
        return 0;
    value = rintl(value);
    if (value >= (long double)high)
        return high;
    return value <= (long double)low ? low : (int64_t)value;
}

void arith_put(ferry_dtype t, void *p, int64_t i, long double value)
{
    switch (t) {
    case FERRY_F32:
        ((float *)p)[i] = (float)value;
        break;
    case FERRY_F64:
        ((double *)p)[i] = (double)value;
        break;
    case FERRY_F16:
        ((uint16_t *)p)[i] = encode(f16, value);
        break;
    case FERRY_BF16:
        ((uint16_t *)p)[i] = encode(bf16, value);
        break;
    case FERRY_I8:
        ((int8_t *)p)[i] = (int8_t)to_integer(value, INT8_MIN, INT8_MAX);
        break;
    case FERRY_U8:
        ((uint8_t *)p)[i] = (uint8_t)to_integer(value, 0, UINT8_MAX);
        break;
    case FERRY_I32:
        ((int32_t *)p)[i] = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
        break;
    case FERRY_I64:
        ((int64_t *)p)[i] = to_integer(value, INT64_MIN, INT64_MAX);
        break;
    case FERRY_U32:
        ((uint32_t *)p)[i] = (uint32_t)to_integer(value, 0, UINT32_MAX);
        break;
    }
}

void arith_random(ferry_dtype t, void *p, int64_t n, double range, unsigned seed)
{
    uint64_t state = seed * UINT64_C(2654435761) + 1;

    for (int64_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        arith_put(t, p, i, ((double)(state >> 40) / 0x1p23 - 1) * range);
    }
}

int arith_near(long double got, long double want, long double tolerance)
{
    if (isnan(want))
        return isnan(got) != 0;
    if (isinf(want))
        return got == want;
    return fabsl(got - want) <= tolerance;
}
