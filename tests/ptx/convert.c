/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cvt: from every type to every other. A float becomes an integer within the type's limits, and
 * a NaN 0.
 */
#include "tests/ptx/real.h"

#include "tests/ptx/program.h"

/* ---- integers to integers ---- */

#define INTEGERS(X, ...)                                                 \
    X(u8, uint8_t, b, __VA_ARGS__)                                       \
    X(s8, int8_t, b, __VA_ARGS__)                                        \
    X(u16, uint16_t, h, __VA_ARGS__) X(s16, int16_t, h, __VA_ARGS__)     \
        X(u32, uint32_t, w, __VA_ARGS__) X(s32, int32_t, w, __VA_ARGS__) \
            X(u64, uint64_t, d, __VA_ARGS__) X(s64, int64_t, d, __VA_ARGS__)
/* As INTEGERS, because a macro does not expand within itself. */
#define RESULTS(X)                                                                  \
    X(u8, uint8_t, b, 0, UINT8_MAX)                                                 \
    X(s8, int8_t, b, INT8_MIN, INT8_MAX)                                            \
    X(u16, uint16_t, h, 0, UINT16_MAX) X(s16, int16_t, h, INT16_MIN, INT16_MAX)     \
        X(u32, uint32_t, w, 0, UINT32_MAX) X(s32, int32_t, w, INT32_MIN, INT32_MAX) \
            X(u64, uint64_t, d, 0, UINT64_MAX) X(s64, int64_t, d, INT64_MIN, INT64_MAX)

#define WHOLE(from, from_type, from_letter, to, to_type, least, most) \
    HANDLER1(to##_of_##from, to_type, from_type, x[l])                \
    HANDLER1(to##_sat_##from, to_type, from_type,                     \
             BELOW(x[l], least)  ? (to_type)(least)                   \
             : ABOVE(x[l], most) ? (to_type)(most)                    \
                                 : (to_type)x[l])
/* Whether the operand is below, or above, a limit of either sign. */
#define BELOW(x, least)                               ((x) < 1 && (int64_t)(x) < (int64_t)(least))
#define ABOVE(x, most)                                ((x) > 0 && (uint64_t)(x) > (uint64_t)(most))
#define WHOLE_OF(to, to_type, to_letter, least, most) INTEGERS(WHOLE, to, to_type, least, most)
RESULTS(WHOLE_OF)

/* ---- floats to integers ---- */

static int64_t signed_of(double v, int64_t least, int64_t most)
{
    if (v != v)
        return 0;
    return v >= (double)most ? most : v <= (double)least ? least : (int64_t)v;
}

static uint64_t unsigned_of(double v, uint64_t most)
{
    if (!(v > 0))
        return 0;
    return v >= (double)most ? most : (uint64_t)v;
}

#define LIMITED(v, type, least, most)                                    \
    ((least) < 0 ? (type)signed_of(v, (int64_t)(least), (int64_t)(most)) \
                 : (type)unsigned_of(v, (uint64_t)(most)))
#define TRUNCATED(to, to_type, to_letter, least, most)                                             \
    HANDLER1(to##_rzi_f32, to_type, float, LIMITED(trunc((double)x[l]), to_type, least, most))     \
    HANDLER1(to##_rni_f32, to_type, float, LIMITED(rint((double)x[l]), to_type, least, most))      \
    HANDLER1(to##_rmi_f32, to_type, float, LIMITED(floor((double)x[l]), to_type, least, most))     \
    HANDLER1(to##_rpi_f32, to_type, float, LIMITED(ceil((double)x[l]), to_type, least, most))      \
    HANDLER1(to##_rzi_f64, to_type, double, LIMITED(trunc(x[l]), to_type, least, most))            \
    HANDLER1(to##_rni_f64, to_type, double, LIMITED(rint(x[l]), to_type, least, most))             \
    HANDLER1(to##_rmi_f64, to_type, double, LIMITED(floor(x[l]), to_type, least, most))            \
    HANDLER1(to##_rpi_f64, to_type, double, LIMITED(ceil(x[l]), to_type, least, most))             \
    HANDLER1(to##_rzi_f16, to_type, uint16_t, LIMITED(trunc(of_half(x[l])), to_type, least, most)) \
    HANDLER1(to##_rni_f16, to_type, uint16_t, LIMITED(rint(of_half(x[l])), to_type, least, most))
RESULTS(TRUNCATED)

/* ---- integers to floats ---- */

/*
 * An integer of more than 53 bits is beyond every finite half, so that two roundings do not
 * matter.
 */
#define REAL(from, from_type, from_letter, ignored)  \
    HANDLER1(f32_of_##from, float, from_type, x[l])  \
    HANDLER1(f64_of_##from, double, from_type, x[l]) \
    HANDLER1(f16_of_##from, uint16_t, from_type, half_of((double)x[l]))
INTEGERS(REAL, )

/* ---- floats to floats ---- */

HANDLER1(f64_of_f32, double, float, made64((double)x[l]))
HANDLER1(f32_of_f64, float, double, made((float)x[l]))
HANDLER1(f32_of_f16, float, uint16_t, made((float)of_half(x[l])))
HANDLER1(f64_of_f16, double, uint16_t, made64(of_half(x[l])))
HANDLER1(f32_of_bf16, float, uint16_t, made((float)of_bfloat(x[l])))
HANDLER1(f16_of_f32, uint16_t, float, half_of((double)x[l]))
HANDLER1(f16_of_f64, uint16_t, double, half_of(x[l]))
HANDLER1(bf16_of_f32, uint16_t, float, bfloat_of((double)x[l]))
HANDLER1(bf16_of_f64, uint16_t, double, bfloat_of(x[l]))
/* The first operand is the upper half. */
HANDLER2(f16x2_of_f32, uint32_t, float, float,
         (uint32_t)half_of((double)x[l]) << 16 | half_of((double)y[l]))
HANDLER2(bf16x2_of_f32, uint32_t, float, float,
         (uint32_t)bfloat_of((double)x[l]) << 16 | bfloat_of((double)y[l]))

#define ROUNDED(name, type, suffix, made)                                 \
    HANDLER1(name##_rni, type, type, made(__builtin_rint##suffix(x[l])))  \
    HANDLER1(name##_rzi, type, type, made(__builtin_trunc##suffix(x[l]))) \
    HANDLER1(name##_rmi, type, type, made(__builtin_floor##suffix(x[l]))) \
    HANDLER1(name##_rpi, type, type, made(__builtin_ceil##suffix(x[l])))  \
    HANDLER1(name##_sat, type, type, x[l] > 0 ? x[l] < 1 ? x[l] : 1 : 0)
ROUNDED(f32, float, f, made)
ROUNDED(f64, double, , made64)
HANDLER1(f32_ftz, float, float, flushed(made(x[l])))

/* ---- names ---- */

#define WHOLE_NAME(from, from_type, from_letter, to, to_letter)            \
    { "cvt." #to "." #from, #to_letter "=" #from_letter, to##_of_##from }, \
        { "cvt.sat." #to "." #from, #to_letter "=" #from_letter, to##_sat_##from },
#define WHOLE_NAMES(to, to_type, to_letter, least, most) INTEGERS(WHOLE_NAME, to, to_letter)
#define TRUNCATED_NAMES(to, to_type, to_letter, least, most)      \
    { "cvt.rzi." #to ".f32", #to_letter "=w", to##_rzi_f32 },     \
        { "cvt.rni." #to ".f32", #to_letter "=w", to##_rni_f32 }, \
        { "cvt.rmi." #to ".f32", #to_letter "=w", to##_rmi_f32 }, \
        { "cvt.rpi." #to ".f32", #to_letter "=w", to##_rpi_f32 }, \
        { "cvt.rzi." #to ".f64", #to_letter "=d", to##_rzi_f64 }, \
        { "cvt.rni." #to ".f64", #to_letter "=d", to##_rni_f64 }, \
        { "cvt.rmi." #to ".f64", #to_letter "=d", to##_rmi_f64 }, \
        { "cvt.rpi." #to ".f64", #to_letter "=d", to##_rpi_f64 }, \
        { "cvt.rzi." #to ".f16", #to_letter "=h", to##_rzi_f16 }, \
        { "cvt.rni." #to ".f16", #to_letter "=h", to##_rni_f16 },
#define REAL_NAMES(from, from_type, from_letter, ignored)          \
    { "cvt.rn.f32." #from, "w=" #from_letter, f32_of_##from },     \
        { "cvt.rn.f64." #from, "d=" #from_letter, f64_of_##from }, \
        { "cvt.rn.f16." #from, "h=" #from_letter, f16_of_##from },
#define ROUNDED_NAMES(name, letters)                         \
    { "cvt.rni." #name "." #name, letters, name##_rni },     \
        { "cvt.rzi." #name "." #name, letters, name##_rzi }, \
        { "cvt.rmi." #name "." #name, letters, name##_rmi }, \
        { "cvt.rpi." #name "." #name, letters, name##_rpi }, \
    {                                                        \
        "cvt.sat." #name "." #name, letters, name##_sat      \
    }

static const struct opcode opcodes[] = {
    RESULTS(WHOLE_NAMES) RESULTS(TRUNCATED_NAMES) INTEGERS(REAL_NAMES, ) ROUNDED_NAMES(f32, "w=w"),
    ROUNDED_NAMES(f64, "d=d"),
    { "cvt.ftz.f32.f32", "w=w", f32_ftz },
    { "cvt.f64.f32", "d=w", f64_of_f32 },
    { "cvt.rn.f32.f64", "w=d", f32_of_f64 },
    { "cvt.f32.f16", "w=h", f32_of_f16 },
    { "cvt.f64.f16", "d=h", f64_of_f16 },
    { "cvt.f32.bf16", "w=h", f32_of_bf16 },
    { "cvt.rn.f16.f32", "h=w", f16_of_f32 },
    { "cvt.rn.f16.f64", "h=d", f16_of_f64 },
    { "cvt.rn.bf16.f32", "h=w", bf16_of_f32 },
    { "cvt.rn.bf16.f64", "h=d", bf16_of_f64 },
    { "cvt.rn.f16x2.f32", "w=ww", f16x2_of_f32 },
    { "cvt.rn.bf16x2.f32", "w=ww", bf16x2_of_f32 },
};

const struct opcode_group convert_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
