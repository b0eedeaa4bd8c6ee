/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floating-point numbers as PTX has them: one NaN, +0 above -0, subnormal numbers that .ftz
 * flushes.
 */
#ifndef FERRY_TEST_PTX_REAL_H
#define FERRY_TEST_PTX_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NAN_BITS32 0x7fffffffu
#define NAN_BITS64 0x7ff8000000000000u

static inline float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static inline uint32_t bits_of(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static inline uint64_t bits_of_double(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* The result of an operation: a NaN is the one that operations make. */
static inline float made(float v)
{
    return v == v ? v : float_of(NAN_BITS32);
}

static inline double made64(double v)
{
    return v == v ? v : double_of(NAN_BITS64);
}

static inline float flushed(float v)
{
    return fabsf(v) < 0x1p-126f ? copysignf(0.0f, v) : v;
}

/* Halves and bfloats (half.c): to nearest even, once; a NaN is 0x7fff. */
uint16_t half_of(double v);
double of_half(uint16_t bits);
uint16_t bfloat_of(double v);
double of_bfloat(uint16_t bits);

#endif
