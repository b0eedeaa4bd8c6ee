/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One element of any type: conversion to and from double, which represents the values of every
 * floating type, and the conversions of the ABI (round to nearest even; integers saturate; NaN
 * becomes 0 in integers).
 */
#include "sim.h"

#include <math.h>
#include <string.h>

uint64_t sim_element_size(uint32_t dtype)
{
    static const uint8_t sizes[FERRY_DTYPE_COUNT] = {
        [FERRY_F32] = 4, [FERRY_F64] = 8, [FERRY_F16] = 2, [FERRY_BF16] = 2, [FERRY_I8] = 1,
        [FERRY_U8] = 1,  [FERRY_I32] = 4, [FERRY_I64] = 8, [FERRY_U32] = 4,
    };

    return dtype < FERRY_DTYPE_COUNT ? sizes[dtype] : 0;
}

/* ---- small floating types: a sign, some exponent bits, `fraction` bits ---- */

static double unpack(uint16_t bits, int fraction)
{
    int exponents = 15 - fraction;
    int bias = (1 << (exponents - 1)) - 1;
    int exponent = (bits & 0x7fff) >> fraction;
    int mantissa = bits & ((1 << fraction) - 1);
    double value;

    if (exponent == (1 << exponents) - 1)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp((double)mantissa, 1 - bias - fraction);
    else
        value = ldexp((double)(mantissa | 1 << fraction), exponent - bias - fraction);
    return bits & 0x8000 ? -value : value;
}

static uint16_t pack(double value, int fraction)
{
    int exponents = 15 - fraction;
    int bias = (1 << (exponents - 1)) - 1;
    int infinity = ((1 << exponents) - 1) << fraction;
    int sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    long bits;

    value = fabs(value);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1 << (fraction - 1));
    if (value >= ldexp(1.0, bias + 1))
        return (uint16_t)(sign | infinity);
    if (value == 0)
        return (uint16_t)sign;
    exponent = ilogb(value);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    /* the fraction with its leading one, unless the value is subnormal; a carry increments the
     * exponent */
    bits = lrint(ldexp(value, fraction - exponent)) + ((long)(exponent + bias - 1) << fraction);
    return (uint16_t)(sign | (bits > infinity ? infinity : (int)bits));
}

/* ---- floating point ---- */

double sim_element_get(uint32_t dtype, const void *base, int64_t index)
{
    switch (dtype) {
    case FERRY_F32:
        return (double)((const float *)base)[index];
    case FERRY_F64:
        return ((const double *)base)[index];
    case FERRY_F16:
        return unpack(((const uint16_t *)base)[index], 10);
    case FERRY_BF16:
        return unpack(((const uint16_t *)base)[index], 7);
    case FERRY_I8:
        return ((const int8_t *)base)[index];
    case FERRY_U8:
        return ((const uint8_t *)base)[index];
    case FERRY_I32:
        return ((const int32_t *)base)[index];
    case FERRY_U32:
        return ((const uint32_t *)base)[index];
    default:
        return (double)((const int64_t *)base)[index];
    }
}

/* Rounds to the nearest integer in [least, most], both of which are exact in double. */
static int64_t saturate(double value, double least, double most)
{
    if (isnan(value))
        return 0;
    value = rint(value);
    return (int64_t)(value < least ? least : value > most ? most : value);
}

static int64_t saturate64(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    if (value <= -0x1p63)
        return INT64_MIN;
    return saturate(value, -0x1p63, 0x1p63);
}

void sim_element_set(uint32_t dtype, void *base, int64_t index, double value)
{
    switch (dtype) {
    case FERRY_F32:
        ((float *)base)[index] = (float)value;
        break;
    case FERRY_F64:
        ((double *)base)[index] = value;
        break;
    case FERRY_F16:
        ((uint16_t *)base)[index] = pack(value, 10);
        break;
    case FERRY_BF16:
        ((uint16_t *)base)[index] = pack(value, 7);
        break;
    case FERRY_I8:
        ((int8_t *)base)[index] = (int8_t)saturate(value, INT8_MIN, INT8_MAX);
        break;
    case FERRY_U8:
        ((uint8_t *)base)[index] = (uint8_t)saturate(value, 0, UINT8_MAX);
        break;
    case FERRY_I32:
        ((int32_t *)base)[index] = (int32_t)saturate(value, INT32_MIN, INT32_MAX);
        break;
    case FERRY_U32:
        ((uint32_t *)base)[index] = (uint32_t)saturate(value, 0, UINT32_MAX);
        break;
    default:
        ((int64_t *)base)[index] = saturate64(value);
        break;
    }
}

/* ---- conversion ---- */

/*
 * Converts a 64-bit integer to a double that rounds to any smaller type like the integer: bits that
 * do not fit are combined into the last bit (sticky bit).
 */
static double sticky(int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t high = magnitude >> 11 | ((magnitude & 0x7ff) != 0);
    double out = magnitude >> 53 ? ldexp((double)high, 11) : (double)magnitude;

    return value < 0 ? -out : out;
}

static void from_int64(int64_t value, uint32_t to, void *y, int64_t index)
{
    if (to == FERRY_I64)
        ((int64_t *)y)[index] = value;
    else if (to == FERRY_F64)
        ((double *)y)[index] = (double)value;
    else
        sim_element_set(to, y, index, sticky(value));
}

void sim_element_convert(uint32_t from, const void *x, uint32_t to, void *y, int64_t index)
{
    if (from == to) {
        size_t size = (size_t)sim_element_size(to);

        memcpy((char *)y + (size_t)index * size, (const char *)x + (size_t)index * size, size);
    } else if (from == FERRY_I64) {
        from_int64(((const int64_t *)x)[index], to, y, index);
    } else {
        sim_element_set(to, y, index, sim_element_get(from, x, index));
    }
}
