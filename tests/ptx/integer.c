/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integer arithmetic. Divisions by zero give all ones, as the result is not specified.
 */
#include "tests/ptx/program.h"

/* The upper half of a product of 128 bits; 32-bit machines have no type of that size. */
static uint64_t high_u64(uint64_t x, uint64_t y)
{
    uint64_t x_low = (uint32_t)x, x_high = x >> 32, y_low = (uint32_t)y, y_high = y >> 32;
    uint64_t middle = x_high * y_low + (x_low * y_low >> 32);
    uint64_t other = x_low * y_high + (uint32_t)middle;

    return x_high * y_high + (middle >> 32) + (other >> 32);
}

static uint64_t high_s64(int64_t x, int64_t y)
{
    return high_u64((uint64_t)x, (uint64_t)y) - (x < 0 ? (uint64_t)y : 0) -
           (y < 0 ? (uint64_t)x : 0);
}

/* Sums wrap in the unsigned type; `wide` is at least int. */
#define WRAPPING(bits, wide)                                                                      \
    HANDLER2(add_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, (wide)x[l] + (wide)y[l]) \
    HANDLER2(sub_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, (wide)x[l] - (wide)y[l]) \
    HANDLER2(mul_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, (wide)x[l] * (wide)y[l]) \
    HANDLER3(mad_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                          \
             (wide)x[l] * (wide)y[l] + (wide)z[l])                                                \
    HANDLER1(neg_##bits, uint##bits##_t, uint##bits##_t, (wide)0 - (wide)x[l])                    \
    HANDLER1(abs_##bits, uint##bits##_t, int##bits##_t,                                           \
             x[l] < 0 ? (wide)0 - (wide)x[l] : (wide)x[l])                                        \
    HANDLER2(div_s##bits, int##bits##_t, int##bits##_t, int##bits##_t,                            \
             y[l] == 0    ? -1                                                                    \
             : y[l] == -1 ? (int##bits##_t)((wide)0 - (wide)x[l])                                 \
                          : x[l] / y[l])                                                          \
    HANDLER2(rem_s##bits, int##bits##_t, int##bits##_t, int##bits##_t,                            \
             y[l] == 0    ? -1                                                                    \
             : y[l] == -1 ? 0                                                                     \
                          : x[l] % y[l])                                                          \
    HANDLER2(div_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                         \
             y[l] ? x[l] / y[l] : (uint##bits##_t) - 1)                                           \
    HANDLER2(rem_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                         \
             y[l] ? x[l] % y[l] : (uint##bits##_t) - 1)                                           \
    HANDLER2(min_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, x[l] < y[l] ? x[l] : y[l]) \
    HANDLER2(max_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, x[l] > y[l] ? x[l] : y[l]) \
    HANDLER2(min_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                         \
             x[l] < y[l] ? x[l] : y[l])                                                           \
    HANDLER2(max_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x[l] > y[l] ? x[l] : y[l])
WRAPPING(16, uint32_t)
WRAPPING(32, uint32_t)
WRAPPING(64, uint64_t)

/* mul and mad with the upper half, or all, of a product of twice the bits. */
#define PRODUCTS(sign, bits, type, double_type)                                         \
    HANDLER2(mul_hi_##sign##bits, type, type, type, ((double_type)x[l] * y[l]) >> bits) \
    HANDLER3(mad_hi_##sign##bits, type, type, type,                                     \
             (uint##bits##_t)(((double_type)x[l] * y[l]) >> bits) + (uint##bits##_t)z[l])
PRODUCTS(s, 16, int16_t, int32_t)
PRODUCTS(u, 16, uint16_t, uint32_t)
PRODUCTS(s, 32, int32_t, int64_t)
PRODUCTS(u, 32, uint32_t, uint64_t)
HANDLER2(mul_hi_s64, uint64_t, int64_t, int64_t, high_s64(x[l], y[l]))
HANDLER2(mul_hi_u64, uint64_t, uint64_t, uint64_t, high_u64(x[l], y[l]))
HANDLER3(mad_hi_s64, uint64_t, int64_t, uint64_t, high_s64(x[l], y[l]) + z[l])
HANDLER3(mad_hi_u64, uint64_t, uint64_t, uint64_t, high_u64(x[l], y[l]) + z[l])

HANDLER2(mul_wide_s16, int32_t, int16_t, int16_t, (int32_t)x[l] * y[l])
HANDLER2(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)x[l] * y[l])
HANDLER2(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)x[l] * y[l])
HANDLER2(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)x[l] * y[l])
HANDLER3(mad_wide_s16, uint32_t, int16_t, uint32_t, (uint32_t)((int32_t)x[l] * y[l]) + z[l])
HANDLER3(mad_wide_u16, uint32_t, uint16_t, uint32_t, (uint32_t)x[l] * y[l] + z[l])
HANDLER3(mad_wide_s32, uint64_t, int32_t, uint64_t, (uint64_t)((int64_t)x[l] * y[l]) + z[l])
HANDLER3(mad_wide_u32, uint64_t, uint32_t, uint64_t, (uint64_t)x[l] * y[l] + z[l])

/* The lower 24 bits of both. */
HANDLER2(mul24_u32, uint32_t, uint32_t, uint32_t, (x[l] & 0xffffff) * (y[l] & 0xffffff))

HANDLER3(sad_s32, uint32_t, int32_t, uint32_t,
         z[l] + (uint32_t)(x[l] < y[l] ? (int64_t)y[l] - x[l] : (int64_t)x[l] - y[l]))
HANDLER3(sad_u32, uint32_t, uint32_t, uint32_t, z[l] + (x[l] < y[l] ? y[l] - x[l] : x[l] - y[l]))

static int32_t saturated(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

HANDLER2(add_sat_s32, int32_t, int32_t, int32_t, saturated((int64_t)x[l] + y[l]))
HANDLER2(sub_sat_s32, int32_t, int32_t, int32_t, saturated((int64_t)x[l] - y[l]))

/* The names of a signed and an unsigned opcode; BOTH: with one handler. */
#define BOTH(name, bits, letters, handler) \
    { name ".s" #bits, letters, handler }, \
    {                                      \
        name ".u" #bits, letters, handler  \
    }
#define EACH(name, bits, letters, stem)           \
    { name ".s" #bits, letters, stem##_s##bits }, \
    {                                             \
        name ".u" #bits, letters, stem##_u##bits  \
    }
#define OPCODES(bits, two, three, one)                                                         \
    BOTH("add", bits, two, add_##bits), BOTH("sub", bits, two, sub_##bits),                    \
        BOTH("mul.lo", bits, two, mul_##bits), BOTH("mad.lo", bits, three, mad_##bits),        \
        { "neg.s" #bits, one, neg_##bits }, { "abs.s" #bits, one, abs_##bits },                \
        EACH("div", bits, two, div), EACH("rem", bits, two, rem), EACH("min", bits, two, min), \
        EACH("max", bits, two, max), EACH("mul.hi", bits, two, mul_hi),                        \
        EACH("mad.hi", bits, three, mad_hi)

static const struct opcode opcodes[] = {
    OPCODES(16, "h=hh", "h=hhh", "h=h"),     OPCODES(32, "w=ww", "w=www", "w=w"),
    OPCODES(64, "d=dd", "d=ddd", "d=d"),     EACH("mul.wide", 16, "w=hh", mul_wide),
    EACH("mul.wide", 32, "d=ww", mul_wide),  EACH("mad.wide", 16, "w=hhw", mad_wide),
    EACH("mad.wide", 32, "d=wwd", mad_wide), EACH("sad", 32, "w=www", sad),
    { "mul24.lo.u32", "w=ww", mul24_u32 },   { "add.sat.s32", "w=ww", add_sat_s32 },
    { "sub.sat.s32", "w=ww", sub_sat_s32 },
};

const struct opcode_group integer_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
