/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversions between all dtypes: rounded once, to nearest even; integers saturate, and NaN becomes
 * 0 in them. OpenCL has only the halves: the other conversions use doubles.
 */
#ifndef FERRY_KERNELS_NUMBER_H
#define FERRY_KERNELS_NUMBER_H

#include "kernels/args.h"
#include "kernels/dialect.h"

/* ---- halves: F32 as bits, because a device may flush subnormal numbers -------- */

INLINE u32 bits_of_bf16(u16 v)
{
    return (u32)v << 16;
}

/*
 * Converts F16 to F32: a subnormal is a multiple of the last place, 2^-24; infinities and NaN have
 * the largest exponent.
 */
INLINE u32 bits_of_f16(u16 v)
{
    u32 magnitude = (u32)v & 0x7fff, exponents = magnitude >= 0x7c00 ? 2 * 112u << 23 : 112u << 23;
    u32 normal = (magnitude << 13) + exponents;
    u32 subnormal = bits_of_f32((f32)(i32)magnitude * 5.9604644775390625e-8f);

    return ((u32)v & 0x8000) << 16 | (magnitude < 0x400 ? subnormal : normal);
}

INLINE u16 bf16_of_bits(u32 bits)
{
    u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

    return (u16)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

/*
 * Converts F32 to F16: the last place of 0.5 as F32 is that of a subnormal F16, so the addition
 * rounds there.
 */
INLINE u16 f16_of_bits(u32 bits)
{
    u32 magnitude = bits & 0x7fffffff;
    u32 normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    u32 subnormal = bits_of_f32(f32_of_bits(magnitude) + 0.5f) - 0x3f000000;
    u32 small = magnitude < 0x38800000 ? subnormal : normal;
    u32 large = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;

    return (u16)((bits >> 16 & 0x8000) | (magnitude < 0x47800000 ? small : large));
}

INLINE u16 bf16_of_f16(u16 v)
{
    return bf16_of_bits(bits_of_f16(v));
}

INLINE u16 f16_of_bf16(u16 v)
{
    return f16_of_bits(bits_of_bf16(v));
}

#if !defined(__OPENCL_VERSION__)

#define itself_f32(v) (v)

INLINE f32 f32_of_bf16(u16 v)
{
    return f32_of_bits(bits_of_bf16(v));
}

INLINE f32 f32_of_f16(u16 v)
{
    return f32_of_bits(bits_of_f16(v));
}

INLINE u16 bf16_of_f32(f32 v)
{
    return bf16_of_bits(bits_of_f32(v));
}

INLINE u16 f16_of_f32(f32 v)
{
    return f16_of_bits(bits_of_f32(v));
}

/*
 * Sets a sticky last bit, so that rounding again gives the rounding of the original value.
 */
INLINE f32 odd_of_f64(f64 v)
{
    f32 near = (f32)v;
    f64 error = v - (f64)near;
    u32 bits = bits_of_f32(near);

    if (error == 0 || v != v || (bits & 0x7fffffff) == 0x7f800000)
        return near;
    if ((error < 0) == (v > 0))
        bits--; /* rounds toward zero */
    return f32_of_bits(bits | 1);
}

/* As odd_of_f64, for an integer of more than 53 bits. */
INLINE f32 odd_of_i64(i64 v)
{
    const i64 limit = (i64)1 << 53, low = 0x7ff;

    if ((v < -limit || v > limit) && (v & low))
        v = (v & ~low) | (low + 1);
    return odd_of_f64((f64)v);
}

/* ---- elements of any dtype, as a double or an i64, which represent them exactly  */

#define PUT(type, p, i) (((GLOBAL type *)(GLOBAL void *)(p))[i])
#define GET(type, p, i) (((GLOBAL const type *)(GLOBAL const void *)(p))[i])

INLINE f64 real_at(i32 dtype, GLOBAL const u8 *p, i64 i)
{
    switch (dtype) {
    case DTYPE_F32:
        return (f64)GET(f32, p, i);
    case DTYPE_F64:
        return GET(f64, p, i);
    case DTYPE_F16:
        return (f64)f32_of_f16(GET(u16, p, i));
    default:
        return (f64)f32_of_bf16(GET(u16, p, i));
    }
}

INLINE i64 whole_at(i32 dtype, GLOBAL const u8 *p, i64 i)
{
    switch (dtype) {
    case DTYPE_I8:
        return GET(i8, p, i);
    case DTYPE_U8:
        return GET(u8, p, i);
    case DTYPE_I32:
        return GET(i32, p, i);
    case DTYPE_I64:
        return GET(i64, p, i);
    default:
        return GET(u32, p, i);
    }
}

#define LEAST_I64 (-9223372036854775807 - 1)
#define MOST_I64  9223372036854775807

INLINE i64 least_of(i32 dtype)
{
    return dtype == DTYPE_I8    ? -128
           : dtype == DTYPE_I32 ? -2147483648LL
           : dtype == DTYPE_I64 ? LEAST_I64
                                : 0;
}

INLINE i64 most_of(i32 dtype)
{
    return dtype == DTYPE_I8    ? 127
           : dtype == DTYPE_U8  ? 255
           : dtype == DTYPE_I32 ? 2147483647
           : dtype == DTYPE_I64 ? MOST_I64
                                : 4294967295LL;
}

/* Stores an integer that is within the dtype's range. */
INLINE void put_whole(i32 dtype, GLOBAL u8 *p, i64 i, i64 v)
{
    switch (dtype) {
    case DTYPE_I8:
        PUT(i8, p, i) = (i8)v;
        break;
    case DTYPE_U8:
        PUT(u8, p, i) = (u8)v;
        break;
    case DTYPE_I32:
        PUT(i32, p, i) = (i32)v;
        break;
    case DTYPE_I64:
        PUT(i64, p, i) = v;
        break;
    default:
        PUT(u32, p, i) = (u32)v;
    }
}

/*
 * 2^63 - 1 is the only limit that a double does not represent; its rounded value, 2^63, compares
 * correctly, because no double is between the two.
 */
INLINE i64 whole_of_f64(i32 dtype, f64 v)
{
    i64 least = least_of(dtype), most = most_of(dtype);
    f64 whole = even_f64(v);

    if (whole != whole)
        return 0;
    return whole >= (f64)most ? most : whole <= (f64)least ? least : (i64)whole;
}

INLINE void store_real(i32 dtype, GLOBAL u8 *p, i64 i, f64 v)
{
    switch (dtype) {
    case DTYPE_F32:
        PUT(f32, p, i) = (f32)v;
        break;
    case DTYPE_F64:
        PUT(f64, p, i) = v;
        break;
    case DTYPE_F16:
        PUT(u16, p, i) = f16_of_f32(odd_of_f64(v));
        break;
    case DTYPE_BF16:
        PUT(u16, p, i) = bf16_of_f32(odd_of_f64(v));
        break;
    default:
        put_whole(dtype, p, i, whole_of_f64(dtype, v));
    }
}

INLINE void store_whole(i32 dtype, GLOBAL u8 *p, i64 i, i64 v)
{
    i64 least = least_of(dtype), most = most_of(dtype);

    switch (dtype) {
    case DTYPE_F32:
        PUT(f32, p, i) = (f32)v;
        break;
    case DTYPE_F64:
        PUT(f64, p, i) = (f64)v;
        break;
    case DTYPE_F16:
        PUT(u16, p, i) = f16_of_f32(odd_of_i64(v));
        break;
    case DTYPE_BF16:
        PUT(u16, p, i) = bf16_of_f32(odd_of_i64(v));
        break;
    default:
        put_whole(dtype, p, i, v < least ? least : v > most ? most : v);
    }
}

/* Element i of x becomes element k of y. */
INLINE void convert_element(i32 from, GLOBAL const u8 *x, i64 i, i32 to, GLOBAL u8 *y, i64 k)
{
    if (from <= DTYPE_BF16)
        store_real(to, y, k, real_at(from, x, i));
    else
        store_whole(to, y, k, whole_at(from, x, i));
}

#endif

#endif
