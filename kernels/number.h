/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of every dtype, from one to another: rounded once, to nearest even; integers saturate, and what is
 * no number is 0 in them. For CUDA and the host, as it takes doubles.
 */
#ifndef FERRY_KERNELS_NUMBER_H
#define FERRY_KERNELS_NUMBER_H

#include "kernels/dialect.h"

/* ferry_dtype's, which never change. */
#define DTYPE_F32  0
#define DTYPE_F64  1
#define DTYPE_F16  2
#define DTYPE_BF16 3
#define DTYPE_I8   4
#define DTYPE_U8   5
#define DTYPE_I32  6
#define DTYPE_I64  7
#define DTYPE_U32  8

#if !defined(__OPENCL_VERSION__)

/* ---- halves ---- */

#define itself_f32(v) (v)

INLINE f32 f32_of_bf16(u16 bits)
{
    return f32_of_bits((u32)bits << 16);
}

/* By a power of two, which makes a normal number of a subnormal one. */
INLINE f32 f32_of_f16(u16 bits)
{
    u32 sign = (u32)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    f32 v = f32_of_bits(magnitude << 13) * 5.192296858534828e+33f;

    if (magnitude >= 0x7c00)
        v = f32_of_bits(magnitude << 13 | 0x7f800000);
    return f32_of_bits(bits_of_f32(v) | sign);
}

INLINE u16 bf16_of_f32(f32 v)
{
    u32 bits = bits_of_f32(v);

    if (v != v)
        return (u16)(bits >> 16 | 0x40);
    return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* `bits` below the leading one of 24 rounded away. */
INLINE u32 shift_to_even(u32 significand, u32 bits)
{
    u32 kept = significand >> bits, half_way = 1u << (bits - 1);
    u32 rest = significand & ((1u << bits) - 1);

    return kept + (rest > half_way || (rest == half_way && (kept & 1)) ? 1u : 0u);
}

INLINE u16 f16_of_f32(f32 v)
{
    u32 bits = bits_of_f32(v), magnitude = bits & 0x7fffffff, exponent = magnitude >> 23;
    u32 sign = bits >> 16 & 0x8000, significand = (magnitude & 0x7fffff) | 0x800000;

    if (magnitude > 0x7f800000)
        return (u16)(sign | 0x7e00);
    if (exponent >= 143) /* 2^16 and more */
        return (u16)(sign | 0x7c00);
    if (exponent >= 113)
        return (u16)(sign | (((exponent - 113) << 10) + shift_to_even(significand, 13)));
    if (exponent < 102)
        return (u16)sign;
    return (u16)(sign | shift_to_even(significand, 126 - exponent));
}

/*
 * With a last bit that says whether anything was cut off, so that rounding it again rounds what it was made of.
 */
INLINE f32 odd_of_f64(f64 v)
{
    f32 near = (f32)v;
    f64 error = v - (f64)near;
    u32 bits = bits_of_f32(near);

    if (error == 0 || v != v || (bits & 0x7fffffff) == 0x7f800000)
        return near;
    if ((error < 0) == (v > 0))
        bits--; /* toward zero */
    return f32_of_bits(bits | 1);
}

/* The same of an integer of more than 53 bits. */
INLINE f32 odd_of_i64(i64 v)
{
    const i64 limit = (i64)1 << 53, low = 0x7ff;

    if ((v < -limit || v > limit) && (v & low))
        v = (v & ~low) | (low + 1);
    return odd_of_f64((f64)v);
}

/* ---- elements of any dtype, as a double or an i64, which hold them ---- */

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

/* An integer that is within the dtype. */
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

/* 2^63 is the only limit that a double does not hold as it is: nothing lies between it and the one above. */
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

#endif

#endif
