/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arithmetic of floats and doubles: rounded once, fma included. Compiled without contraction.
 */
#include "tests/ptx/real.h"

#include "tests/ptx/program.h"

#include <fenv.h>

#define ARITHMETIC(bits, type, suffix, made)                                               \
    HANDLER2(add_f##bits, type, type, type, made(x[l] + y[l]))                             \
    HANDLER2(sub_f##bits, type, type, type, made(x[l] - y[l]))                             \
    HANDLER2(mul_f##bits, type, type, type, made(x[l] * y[l]))                             \
    HANDLER2(div_f##bits, type, type, type, made(x[l] / y[l]))                             \
    HANDLER3(fma_f##bits, type, type, type, made(__builtin_fma##suffix(x[l], y[l], z[l]))) \
    HANDLER1(rcp_f##bits, type, type, made(1 / x[l]))                                      \
    HANDLER1(sqrt_f##bits, type, type, made(__builtin_sqrt##suffix(x[l])))                 \
    HANDLER2(copysign_f##bits, type, type, type, __builtin_copysign##suffix(y[l], x[l]))
ARITHMETIC(32, float, f, made)
ARITHMETIC(64, double, , made64)

/* Operates on the bits, so that a NaN keeps its payload. */
HANDLER1(neg_f32, uint32_t, uint32_t, x[l] ^ 0x80000000u)
HANDLER1(abs_f32, uint32_t, uint32_t, x[l] & 0x7fffffffu)
HANDLER1(neg_f64, uint64_t, uint64_t, x[l] ^ (uint64_t)1 << 63)
HANDLER1(abs_f64, uint64_t, uint64_t, x[l] & ~((uint64_t)1 << 63))

/* The operand that is a number; -0 is below +0. */
static double least(double x, double y)
{
    if (x != x || y != y)
        return x == x ? x : y == y ? y : double_of(NAN_BITS64);
    return x < y || (x == y && signbit(x)) ? x : y;
}

static double most(double x, double y)
{
    if (x != x || y != y)
        return x == x ? x : y == y ? y : double_of(NAN_BITS64);
    return x > y || (x == y && !signbit(x)) ? x : y;
}

/* With .NaN an operand that is NaN decides. */
static double least_nan(double x, double y)
{
    return x != x || y != y ? double_of(NAN_BITS64) : least(x, y);
}

static double most_nan(double x, double y)
{
    return x != x || y != y ? double_of(NAN_BITS64) : most(x, y);
}

HANDLER2(min_f32, float, float, float, made((float)least((double)x[l], (double)y[l])))
HANDLER2(max_f32, float, float, float, made((float)most((double)x[l], (double)y[l])))
HANDLER2(min_nan_f32, float, float, float, made((float)least_nan((double)x[l], (double)y[l])))
HANDLER2(max_nan_f32, float, float, float, made((float)most_nan((double)x[l], (double)y[l])))
HANDLER2(min_f64, double, double, double, least(x[l], y[l]))
HANDLER2(max_f64, double, double, double, most(x[l], y[l]))

/* ---- with .ftz ---- */

#define F(v) flushed(v)
HANDLER2(add_ftz_f32, float, float, float, F(made(F(x[l]) + F(y[l]))))
HANDLER2(sub_ftz_f32, float, float, float, F(made(F(x[l]) - F(y[l]))))
HANDLER2(mul_ftz_f32, float, float, float, F(made(F(x[l]) * F(y[l]))))
HANDLER2(div_ftz_f32, float, float, float, F(made(F(x[l]) / F(y[l]))))
HANDLER3(fma_ftz_f32, float, float, float, F(made(__builtin_fmaf(F(x[l]), F(y[l]), F(z[l])))))
HANDLER1(rcp_ftz_f32, float, float, F(made(1 / F(x[l]))))
HANDLER1(sqrt_ftz_f32, float, float, F(made(__builtin_sqrtf(F(x[l])))))
HANDLER1(neg_ftz_f32, float, float, F(-x[l]))
HANDLER1(abs_ftz_f32, float, float, F(__builtin_fabsf(x[l])))

/* ---- with .sat ---- */

static float within_one(float v)
{
    return v > 0 ? v < 1 ? v : 1.0f : 0.0f; /* a NaN is 0 */
}

HANDLER2(add_sat_f32, float, float, float, within_one(x[l] + y[l]))
HANDLER2(mul_sat_f32, float, float, float, within_one(x[l] * y[l]))
HANDLER3(fma_sat_f32, float, float, float, within_one(__builtin_fmaf(x[l], y[l], z[l])))

/* ---- other rounding ---- */

/*
 * Sets the rounding mode of the calling thread while `run` works. It is not inlined, because the
 * compiler is not aware of the mode.
 */
static void rounded(int mode, ptx_handler *volatile run, struct warp *w,
                    const struct instruction *i)
{
    fesetround(mode);
    run(w, i);
    fesetround(FE_TONEAREST);
}

#define ROUNDED(stem, name, mode)                                          \
    static void stem##_##name(struct warp *w, const struct instruction *i) \
    {                                                                      \
        rounded(mode, stem, w, i);                                         \
    }
#define ROUNDINGS(stem)              \
    ROUNDED(stem, rz, FE_TOWARDZERO) \
    ROUNDED(stem, rm, FE_DOWNWARD)   \
    ROUNDED(stem, rp, FE_UPWARD)
ROUNDINGS(add_f32)
ROUNDINGS(sub_f32)
ROUNDINGS(mul_f32)
ROUNDINGS(div_f32)
ROUNDINGS(fma_f32)
ROUNDINGS(add_f64)
ROUNDINGS(sub_f64)
ROUNDINGS(mul_f64)
ROUNDINGS(div_f64)
ROUNDINGS(fma_f64)

#define NEAREST(name, bits, letters, handler) \
    { name ".f" #bits, letters, handler },    \
    {                                         \
        name ".rn.f" #bits, letters, handler  \
    }
#define DIRECTED(name, bits, letters, handler)                                                    \
    { name ".rz.f" #bits, letters, handler##_rz }, { name ".rm.f" #bits, letters, handler##_rm }, \
    {                                                                                             \
        name ".rp.f" #bits, letters, handler##_rp                                                 \
    }
#define OPCODES(bits, one, two, three)                                                       \
    NEAREST("add", bits, two, add_f##bits), DIRECTED("add", bits, two, add_f##bits),         \
        NEAREST("sub", bits, two, sub_f##bits), DIRECTED("sub", bits, two, sub_f##bits),     \
        NEAREST("mul", bits, two, mul_f##bits), DIRECTED("mul", bits, two, mul_f##bits),     \
        NEAREST("div", bits, two, div_f##bits), DIRECTED("div", bits, two, div_f##bits),     \
        NEAREST("fma", bits, three, fma_f##bits), DIRECTED("fma", bits, three, fma_f##bits), \
        NEAREST("mad", bits, three, fma_f##bits), NEAREST("rcp", bits, one, rcp_f##bits),    \
        NEAREST("sqrt", bits, one, sqrt_f##bits), { "neg.f" #bits, one, neg_f##bits },       \
        { "abs.f" #bits, one, abs_f##bits }, { "copysign.f" #bits, two, copysign_f##bits },  \
        { "min.f" #bits, two, min_f##bits },                                                 \
    {                                                                                        \
        "max.f" #bits, two, max_f##bits                                                      \
    }
#define FLUSHING(name, letters, handler)     \
    { name ".ftz.f32", letters, handler },   \
    {                                        \
        name ".rn.ftz.f32", letters, handler \
    }

static const struct opcode opcodes[] = {
    OPCODES(32, "w=w", "w=ww", "w=www"),    OPCODES(64, "d=d", "d=dd", "d=ddd"),
    { "min.NaN.f32", "w=ww", min_nan_f32 }, { "max.NaN.f32", "w=ww", max_nan_f32 },
    FLUSHING("add", "w=ww", add_ftz_f32),   FLUSHING("sub", "w=ww", sub_ftz_f32),
    FLUSHING("mul", "w=ww", mul_ftz_f32),   FLUSHING("div", "w=ww", div_ftz_f32),
    FLUSHING("fma", "w=www", fma_ftz_f32),  FLUSHING("rcp", "w=w", rcp_ftz_f32),
    FLUSHING("sqrt", "w=w", sqrt_ftz_f32),  { "neg.ftz.f32", "w=w", neg_ftz_f32 },
    { "abs.ftz.f32", "w=w", abs_ftz_f32 },  { "add.sat.f32", "w=ww", add_sat_f32 },
    { "mul.sat.f32", "w=ww", mul_sat_f32 }, { "fma.rn.sat.f32", "w=www", fma_sat_f32 },
};

const struct opcode_group real_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
