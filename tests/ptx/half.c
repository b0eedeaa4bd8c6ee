/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Halves and bfloats: conversions, and their arithmetic, which is a double's rounded once.
 */
#include "tests/ptx/real.h"

#include "tests/ptx/program.h"

/*
 * Rounds to a format of `digits` binary digits with a smallest normal exponent; overflow gives an
 * infinity.
 */
static uint16_t small_of(double v, int digits, int least, int most)
{
    int exponent = 0;
    uint32_t sign = signbit(v) ? 0x8000 : 0, fraction_bits = (uint32_t)digits - 1;
    double quantum, units;

    if (v != v)
        return 0x7fff;
    (void)frexp(v, &exponent); /* 0.5 ≤ the fraction < 1 */
    exponent = exponent - 1 < least ? least : exponent - 1;
    quantum = ldexp(1.0, exponent - digits + 1);
    units = isinf(v) ? v : rint(fabs(v) / quantum);
    if (isinf(v) || units * quantum >= ldexp(1.0, most + 1))
        return (uint16_t)(sign | (uint32_t)(most - least + 2) << fraction_bits);
    /* A fraction that is rounded up to 2 makes the exponent one more by itself. */
    return (uint16_t)(sign + ((uint32_t)(exponent - least) << fraction_bits) + (uint32_t)units);
}

static double of_small(uint16_t bits, int digits, int least)
{
    uint32_t magnitude = bits & 0x7fffu, fraction = magnitude & ((1u << (digits - 1)) - 1);
    int field = (int)(magnitude >> (digits - 1)), top = 0x7fff >> (digits - 1);
    double v;

    if (field == top)
        v = fraction ? double_of(NAN_BITS64) : INFINITY;
    else if (field == 0)
        v = ldexp(fraction, least - digits + 1);
    else
        v = ldexp(fraction + (1u << (digits - 1)), field - 1 + least - digits + 1);
    return bits & 0x8000 ? -v : v;
}

uint16_t half_of(double v)
{
    return small_of(v, 11, -14, 15);
}

double of_half(uint16_t bits)
{
    return of_small(bits, 11, -14);
}

uint16_t bfloat_of(double v)
{
    return small_of(v, 8, -126, 127);
}

double of_bfloat(uint16_t bits)
{
    return of_small(bits, 8, -126);
}

/*
 * Sums and products of two halves are exact in a double, or so much longer than a half that a
 * second rounding changes nothing; of three (fma) the product is exact and the sum is rounded to
 * odd first.
 */
static double odd_sum(double x, double y)
{
    double sum = x + y, rest = fabs(x) >= fabs(y) ? y - (sum - x) : x - (sum - y);
    uint64_t bits = bits_of_double(sum);

    if (rest == 0 || rest != rest || isinf(sum) || bits & 1)
        return sum;
    return double_of((rest < 0) == (sum > 0) ? bits - 1 : bits | 1);
}

#define SMALL(name, to, of)                                                                        \
    HANDLER2(add_##name, uint16_t, uint16_t, uint16_t, to(of(x[l]) + of(y[l])))                    \
    HANDLER2(sub_##name, uint16_t, uint16_t, uint16_t, to(of(x[l]) - of(y[l])))                    \
    HANDLER2(mul_##name, uint16_t, uint16_t, uint16_t, to(of(x[l]) * of(y[l])))                    \
    HANDLER3(fma_##name, uint16_t, uint16_t, uint16_t, to(odd_sum(of(x[l]) * of(y[l]), of(z[l])))) \
    HANDLER2(add_##name##x2, uint32_t, uint32_t, uint32_t, BOTH(of, to, x[l], y[l], +))            \
    HANDLER2(sub_##name##x2, uint32_t, uint32_t, uint32_t, BOTH(of, to, x[l], y[l], -))            \
    HANDLER2(mul_##name##x2, uint32_t, uint32_t, uint32_t, BOTH(of, to, x[l], y[l], *))            \
    HANDLER3(fma_##name##x2, uint32_t, uint32_t, uint32_t,                                         \
             PAIR(to(odd_sum(of(LOW(x[l])) * of(LOW(y[l])), of(LOW(z[l])))),                       \
                  to(odd_sum(of(HIGH(x[l])) * of(HIGH(y[l])), of(HIGH(z[l]))))))
#define LOW(v)                 ((uint16_t)((v)&0xffff))
#define HIGH(v)                ((uint16_t)((v) >> 16))
#define PAIR(low, high)        ((uint32_t)(low) | (uint32_t)(high) << 16)
#define BOTH(of, to, x, y, op) PAIR(to(of(LOW(x)) op of(LOW(y))), to(of(HIGH(x)) op of(HIGH(y))))
SMALL(f16, half_of, of_half)
SMALL(bf16, bfloat_of, of_bfloat)

HANDLER1(neg_16, uint16_t, uint16_t, x[l] ^ 0x8000)
HANDLER1(abs_16, uint16_t, uint16_t, x[l] & 0x7fff)
HANDLER1(neg_16x2, uint32_t, uint32_t, x[l] ^ 0x80008000u)
HANDLER1(abs_16x2, uint32_t, uint32_t, x[l] & 0x7fff7fffu)

#define OPCODES(name)                                                                              \
    { "add." #name, "h=hh", add_##name }, { "add.rn." #name, "h=hh", add_##name },                 \
        { "sub." #name, "h=hh", sub_##name }, { "sub.rn." #name, "h=hh", sub_##name },             \
        { "mul." #name, "h=hh", mul_##name }, { "mul.rn." #name, "h=hh", mul_##name },             \
        { "fma.rn." #name, "h=hhh", fma_##name }, { "neg." #name, "h=h", neg_16 },                 \
        { "abs." #name, "h=h", abs_16 }, { "add." #name "x2", "w=ww", add_##name##x2 },            \
        { "add.rn." #name "x2", "w=ww", add_##name##x2 },                                          \
        { "sub." #name "x2", "w=ww", sub_##name##x2 },                                             \
        { "sub.rn." #name "x2", "w=ww", sub_##name##x2 },                                          \
        { "mul." #name "x2", "w=ww", mul_##name##x2 },                                             \
        { "mul.rn." #name "x2", "w=ww", mul_##name##x2 },                                          \
        { "fma.rn." #name "x2", "w=www", fma_##name##x2 }, { "neg." #name "x2", "w=w", neg_16x2 }, \
    {                                                                                              \
        "abs." #name "x2", "w=w", abs_16x2                                                         \
    }

static const struct opcode opcodes[] = { OPCODES(f16), OPCODES(bf16) };

const struct opcode_group half_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
