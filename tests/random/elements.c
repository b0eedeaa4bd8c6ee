/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* Elements of any type, computed without the library. */

int64_t element_size(const struct obj *o)
{
    return (int64_t)ferry_dtype_size(o->dtype);
}

/* Small integers, in the two 16-bit types too, by the upper half of a binary32. */
static float wide(uint16_t bits, ferry_dtype dtype)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;

    if (dtype == FERRY_F16) {
        unsigned exponent = bits >> 10 & 31;

        word = (uint32_t)(bits & 0x8000) << 16 | (uint32_t)(bits & 0x3ff) << 13;
        if (exponent)
            word |= (exponent + 112) << 23;
    }
    memcpy(&value, &word, sizeof(value));
    return value;
}

static uint16_t narrow(float value, ferry_dtype dtype)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    if (dtype == FERRY_BF16)
        return (uint16_t)(word >> 16);
    if (value == 0)
        return (uint16_t)(word >> 16 & 0x8000);
    return (uint16_t)((word >> 16 & 0x8000) | ((word >> 23 & 255) - 112) << 10 |
                      (word >> 13 & 0x3ff));
}

#define GET(type)                                      \
    do {                                               \
        type v;                                        \
        memcpy(&v, (const type *)base + i, sizeof(v)); \
        return (double)v;                              \
    } while (0)

double element_get(ferry_dtype dtype, const void *base, int64_t i)
{
    switch (dtype) {
    case FERRY_F64:
        GET(double);
    case FERRY_I8:
        GET(int8_t);
    case FERRY_U8:
        GET(uint8_t);
    case FERRY_I32:
        GET(int32_t);
    case FERRY_I64:
        GET(int64_t);
    case FERRY_F16:
    case FERRY_BF16:
        return (double)wide(((const uint16_t *)base)[i], dtype);
    default:
        GET(float);
    }
}

#define SET(type)                                \
    do {                                         \
        type v = (type)value;                    \
        memcpy((type *)base + i, &v, sizeof(v)); \
        return;                                  \
    } while (0)

void element_set(ferry_dtype dtype, void *base, int64_t i, double value)
{
    switch (dtype) {
    case FERRY_F64:
        SET(double);
    case FERRY_I8:
        SET(int8_t);
    case FERRY_U8:
        SET(uint8_t);
    case FERRY_I32:
        SET(int32_t);
    case FERRY_I64:
        SET(int64_t);
    case FERRY_F16:
    case FERRY_BF16:
        ((uint16_t *)base)[i] = narrow((float)value, dtype);
        return;
    default:
        SET(float);
    }
}
