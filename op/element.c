/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/element.h"

#include <math.h>
#include <string.h>

/* A binary floating type of 16 bits with `fraction` bits of fraction and this bias. */
static double from_bits16(uint16_t bits, int fraction, int bias)
{
    int top = (1 << (15 - fraction)) - 1, exponent = bits >> fraction & top;
    int mantissa = bits & ((1 << fraction) - 1);
    double value;

    if (exponent == top)
        value = mantissa ? NAN : INFINITY;
    else if (exponent)
        value = ldexp((1 << fraction) + mantissa, exponent - bias - fraction);
    else
        value = ldexp(mantissa, 1 - bias - fraction);
    return bits >> 15 ? -value : value;
}

static uint16_t to_bits16(double value, int fraction, int bias)
{
    int top = (1 << (15 - fraction)) - 1, exponent;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double scaled;

    if (isnan(value))
        return (uint16_t)(sign | top << fraction | 1 << (fraction - 1));
    value = fabs(value);
    if (value == 0)
        return sign;
    frexp(value, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    if (exponent > bias)
        return (uint16_t)(sign | top << fraction);
    /* the integer part counts the last place; carrying into the exponent is what it should do */
    scaled = nearbyint(ldexp(value, fraction - exponent));
    scaled += ldexp(exponent + bias - 1, fraction);
    if (scaled >= ldexp(top, fraction))
        return (uint16_t)(sign | top << fraction);
    return (uint16_t)(sign | (uint16_t)scaled);
}

static double saturated(double value, double least, double most)
{
    if (isnan(value))
        return 0;
    value = nearbyint(value);
    return value < least ? least : value > most ? most : value;
}

#define GET(type)                                                                   \
    do {                                                                            \
        type got;                                                                   \
        memcpy(&got, (const char *)base + index * (int64_t)sizeof got, sizeof got); \
        return (double)got;                                                         \
    } while (0)

static uint16_t bits_at(const void *base, int64_t index)
{
    uint16_t bits;

    memcpy(&bits, (const char *)base + index * 2, sizeof bits);
    return bits;
}

double ferry__element_get(uint32_t dtype, const void *base, int64_t index)
{
    switch (dtype) {
    case FERRY_F32:
        GET(float);
    case FERRY_F64:
        GET(double);
    case FERRY_F16:
        return from_bits16(bits_at(base, index), 10, 15);
    case FERRY_BF16:
        return from_bits16(bits_at(base, index), 7, 127);
    case FERRY_I8:
        GET(int8_t);
    case FERRY_U8:
        GET(uint8_t);
    case FERRY_I32:
        GET(int32_t);
    case FERRY_I64:
        GET(int64_t);
    case FERRY_U32:
        GET(uint32_t);
    default:
        return 0;
    }
}

#define SET(type, converted)                                                  \
    do {                                                                      \
        type put = (type)(converted);                                         \
        memcpy((char *)base + index * (int64_t)sizeof put, &put, sizeof put); \
        return;                                                               \
    } while (0)

static int64_t to_i64(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 9223372036854775808.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)nearbyint(value);
}

void ferry__element_set(uint32_t dtype, void *base, int64_t index, double value)
{
    switch (dtype) {
    case FERRY_F32:
        SET(float, value);
    case FERRY_F64:
        SET(double, value);
    case FERRY_F16:
        SET(uint16_t, to_bits16(value, 10, 15));
    case FERRY_BF16:
        SET(uint16_t, to_bits16(value, 7, 127));
    case FERRY_I8:
        SET(int8_t, saturated(value, INT8_MIN, INT8_MAX));
    case FERRY_U8:
        SET(uint8_t, saturated(value, 0, UINT8_MAX));
    case FERRY_I32:
        SET(int32_t, saturated(value, INT32_MIN, INT32_MAX));
    case FERRY_I64:
        SET(int64_t, to_i64(value));
    case FERRY_U32:
        SET(uint32_t, saturated(value, 0, UINT32_MAX));
    default:
        return;
    }
}
