/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversions between real numbers and integers: to nearest, ties to even; integers saturate, and
 * NaN becomes 0.
 */
#ifndef FERRY_COMMON_ROUNDING_H
#define FERRY_COMMON_ROUNDING_H

#include <stdint.h>

/* The whole number nearest to `value`, ties to even; NaN and infinities stay. */
static inline double ferry__round_even(double value)
{
    double magnitude = __builtin_fabs(value);

    if (!(magnitude < 0x1p52)) /* the value is an integer already, or not finite */
        return value;
    return __builtin_copysign((magnitude + 0x1p52) - 0x1p52, value);
}

/*
 * `value` rounded to an integer within [low, high]; the bounds are exact in double, except those of
 * I64.
 */
static inline int64_t ferry__saturate(double value, int64_t low, int64_t high)
{
    double whole = ferry__round_even(value);

    if (whole != whole)
        return 0;
    if (whole >= (double)high)
        return high;
    return whole <= (double)low ? low : (int64_t)whole;
}

static inline int64_t ferry__clamp(int64_t value, int64_t low, int64_t high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

/*
 * Converts an integer to a double that rounds to a shorter type as the integer itself does: if a
 * bit does not fit into the double's 53 bits, the last bit is set (round to odd).
 */
static inline double ferry__round_odd(int64_t value)
{
    const int64_t low = 0x7ff;

    if (value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53)
        return (double)value;
    return (double)((value & low) ? (value & ~low) | (low + 1) : value);
}

#endif
