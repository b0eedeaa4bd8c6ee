/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes one element of any type on the host. */
#include "opencl.h"

#include <math.h>
#include <string.h>

uint64_t ocl_element_size(uint32_t dtype)
{
    static const uint64_t sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };

    return dtype < FERRY_DTYPE_COUNT ? sizes[dtype] : 0;
}

/*
 * Encodes a 16-bit float with `fraction` bits of fraction; `least` is the exponent of the smallest
 * normal. The value in units of its last place, rounded to even, is the encoding except for the
 * exponent, which is added.
 */
static uint16_t encode16(double value, int fraction, int least)
{
    unsigned sign = signbit(value) ? 0x8000u : 0u;
    unsigned infinity = 0x7fffu >> fraction << fraction;
    double magnitude = fabs(value), units;
    int exponent;
    unsigned long bits;

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1u << (fraction - 1));
    if (isinf(value))
        return (uint16_t)(sign | infinity);
    if (magnitude == 0)
        return (uint16_t)sign;
    (void)frexp(magnitude, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    units = nearbyint(ldexp(magnitude, fraction - exponent));
    if (exponent > 1 - least || units >= 65536.0)
        return (uint16_t)(sign | infinity);
    bits = (unsigned long)units + ((unsigned long)(exponent - least) << fraction);
    return (uint16_t)(sign | (bits < infinity ? (unsigned)bits : infinity));
}

union element {
    float f32;
    double f64;
    uint16_t bits;
    int8_t i8;
    uint8_t u8;
    int32_t i32;
    int64_t i64;
    uint32_t u32;
};

/*
 * Rounds to the nearest integer. Returns false and writes nothing if the dtype is not an integer
 * type.
 */
static bool encode_integer(uint32_t dtype, double value, union element *e)
{
    switch (dtype) {
    case FERRY_I8:
        e->i8 = (int8_t)nearbyint(value);
        return true;
    case FERRY_U8:
        e->u8 = (uint8_t)nearbyint(value);
        return true;
    case FERRY_I32:
        e->i32 = (int32_t)nearbyint(value);
        return true;
    case FERRY_I64:
        e->i64 = (int64_t)nearbyint(value);
        return true;
    case FERRY_U32:
        e->u32 = (uint32_t)nearbyint(value);
        return true;
    default:
        return false;
    }
}

size_t ocl_element_encode(uint32_t dtype, double value, void *out)
{
    union element e;

    switch (dtype) {
    case FERRY_F32:
        e.f32 = (float)value;
        break;
    case FERRY_F64:
        e.f64 = value;
        break;
    case FERRY_F16:
        e.bits = encode16(value, 10, -14);
        break;
    case FERRY_BF16:
        e.bits = encode16(value, 7, -126);
        break;
    default:
        if (!encode_integer(dtype, value, &e))
            return 0;
    }
    memcpy(out, &e, (size_t)ocl_element_size(dtype));
    return (size_t)ocl_element_size(dtype);
}
