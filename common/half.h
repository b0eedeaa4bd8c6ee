/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversion of F16 and BF16 to and from wider types: to nearest, ties to even; NaN becomes a quiet
 * NaN.
 */
#ifndef FERRY_COMMON_HALF_H
#define FERRY_COMMON_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t ferry__float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float ferry__float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline float ferry__f16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t magnitude = h & 0x7fffu;
    uint32_t bits;

    if (magnitude < 0x0400u) /* the value is zero or denormal: a multiple of 2^-24 */
        bits = ferry__float_bits((float)magnitude * 0x1p-24f);
    else if (magnitude < 0x7c00u)
        bits = (magnitude << 13) + (112u << 23);
    else
        bits = 0x7f800000u | (magnitude & 0x03ffu) << 13 | (uint32_t)(magnitude > 0x7c00u) << 22;
    return ferry__float_of_bits(sign | bits);
}

static inline uint16_t ferry__f16_from_float(float value)
{
    uint32_t bits = ferry__float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half;

    if (magnitude > 0x7f800000u)
        half = 0x7e00u | (magnitude >> 13 & 0x03ffu);
    else if (magnitude >= 0x477ff000u) /* the value is 65520 or more */
        half = 0x7c00u;
    else if (magnitude < 0x38800000u) /* the value is below 2^-14; one unit in the last place of 0.5
                                       * is 2^-24 */
        half = ferry__float_bits(ferry__float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    else
        half = (magnitude - (112u << 23) + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
    return (uint16_t)(sign | half);
}

static inline float ferry__bf16_to_float(uint16_t b)
{
    return ferry__float_of_bits((uint32_t)b << 16);
}

static inline uint16_t ferry__bf16_from_float(float value)
{
    uint32_t bits = ferry__float_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x0040u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/*
 * The float nearest to `value` whose last bit is odd, unless a float is equal to `value`. Rounding
 * the result to fewer bits equals rounding `value` itself; rounding to the nearest float first
 * would not.
 */
static inline float ferry__float_to_odd(double value)
{
    float near = (float)value;
    double back = (double)near;
    uint32_t bits;

    if (back == value || value != value)
        return near;
    bits = ferry__float_bits(near);
    if ((back < 0 ? -back : back) > (value < 0 ? -value : value))
        bits--;
    return ferry__float_of_bits(bits | 1u);
}

static inline uint16_t ferry__f16_from_double(double value)
{
    return ferry__f16_from_float(ferry__float_to_odd(value));
}

static inline uint16_t ferry__bf16_from_double(double value)
{
    return ferry__bf16_from_float(ferry__float_to_odd(value));
}

#endif
