/* SPDX-License-Identifier: BSD-2-Clause */
#include "storage.h"

#include <ferry/io.h>

#include <string.h>

static const struct {
    const char *name;
    size_t size;
    ferry_dtype dtype;
} storages[] = {
    [FERRY__STORED_U16] = { "U16", 2, FERRY_U32 },
    [FERRY__STORED_U64] = { "U64", 8, FERRY_I64 },
    [FERRY__STORED_I16] = { "I16", 2, FERRY_I32 },
    [FERRY__STORED_BOOL] = { "BOOL", 1, FERRY_U8 },
    [FERRY__STORED_F8_E4M3] = { "F8_E4M3", 1, FERRY_F16 },
    [FERRY__STORED_F8_E5M2] = { "F8_E5M2", 1, FERRY_F16 },
    [FERRY__STORED_OTHERWISE] = { NULL, 1, FERRY_U8 },
    [FERRY__STORED_I8_ROWS] = { FERRY_IO_I8_ROWS, 1, FERRY_F32 },
};

const char *ferry__storage_name(enum ferry__storage storage)
{
    return storages[storage].name;
}

enum ferry__storage ferry__storage_named(const char *name)
{
    for (int i = FERRY__STORED_U16; name && i < FERRY__STORED_OTHERWISE; i++)
        if (strcmp(storages[i].name, name) == 0)
            return (enum ferry__storage)i;
    return FERRY__STORED_AS_DTYPE;
}

size_t ferry__storage_size(enum ferry__storage storage, ferry_dtype dtype)
{
    return storage == FERRY__STORED_AS_DTYPE ? ferry_dtype_size(dtype) : storages[storage].size;
}

ferry_dtype ferry__storage_dtype(enum ferry__storage storage)
{
    return storages[storage].dtype;
}

/* ---- eight bits of floating point ----------------------------------------------------------- */

/*
 * Converts E4M3: bias 7, no infinity; NaN has all bits set except the sign. A subnormal is m ·
 * 2^−9.
 */
static uint16_t half_of_e4m3(uint8_t bits)
{
    unsigned sign = (unsigned)(bits & 0x80) << 8, exponent = bits >> 3 & 15, fraction = bits & 7;

    if ((bits & 0x7f) == 0x7f)
        return (uint16_t)(sign | 0x7e00);
    if (exponent == 0 && fraction == 0)
        return (uint16_t)sign;
    exponent += 8; /* binary16's bias is 15 */
    if ((bits & 0x78) == 0) {
        for (exponent++; !(fraction & 8); exponent--)
            fraction <<= 1;
        fraction &= 7;
    }
    return (uint16_t)(sign | exponent << 10 | fraction << 7);
}

/* The value of a finite binary16 in units of 2^−24, a whole number. */
static uint64_t units_of(uint16_t half)
{
    unsigned exponent = half >> 10 & 31;

    return exponent ? (uint64_t)(1024 | (half & 1023)) << (exponent - 1) : half & 1023u;
}

/*
 * Rounds to the nearest E4M3 by a binary search, because positive values are ordered like their
 * bits.
 */
static uint8_t e4m3_of_half(uint16_t half)
{
    uint8_t sign = (uint8_t)(half >> 8 & 0x80), low = 0, high = 0x7e;
    uint64_t value = units_of(half & 0x7fff), below, above;

    if ((half & 0x7c00) == 0x7c00 || value > units_of(half_of_e4m3(0x7e)) + (UINT64_C(16) << 24))
        return sign | 0x7f; /* NaN: the magnitude exceeds 448 by more than half a unit */
    while (high - low > 1) {
        uint8_t middle = (uint8_t)((low + high) / 2);

        if (units_of(half_of_e4m3(middle)) <= value)
            low = middle;
        else
            high = middle;
    }
    below = units_of(half_of_e4m3(low));
    above = units_of(half_of_e4m3(high));
    if (value >= above || above - value < value - below ||
        (above - value == value - below && high % 2 == 0))
        low = high;
    return sign | low;
}

/* Rounds to E5M2, the upper half of a binary16. */
static uint8_t e5m2_of_half(uint16_t half)
{
    if ((half & 0x7fff) > 0x7c00)
        return (uint8_t)(half >> 8 | 2);
    return (uint8_t)((half + 0x7fu + (half >> 8 & 1)) >> 8);
}

/* ---- arrays --------------------------------------------------------------------------------- */

#define EACH(from_type, to_type, expression)   \
    {                                          \
        const from_type *source = from;        \
        to_type *target = to;                  \
        for (int64_t i = 0; i < n; i++) {      \
            const from_type v = source[i];     \
            target[i] = (to_type)(expression); \
        }                                      \
        return -1;                             \
    }

/* As EACH, for values that may be out of range. */
#define EACH_UNLESS(from_type, to_type, beyond) \
    {                                           \
        const from_type *source = from;         \
        to_type *target = to;                   \
        for (int64_t i = 0; i < n; i++) {       \
            const from_type v = source[i];      \
            if (beyond)                         \
                return i;                       \
            target[i] = (to_type)v;             \
        }                                       \
        return -1;                              \
    }

int64_t ferry__storage_widen(enum ferry__storage storage, const void *from, int64_t n, void *to)
{
    switch (storage) {
    case FERRY__STORED_U16:
        EACH(uint16_t, uint32_t, v)
    case FERRY__STORED_U64:
        EACH_UNLESS(uint64_t, int64_t, v > (uint64_t)INT64_MAX)
    case FERRY__STORED_I16:
        EACH(int16_t, int32_t, v)
    case FERRY__STORED_BOOL:
        EACH(uint8_t, uint8_t, v != 0)
    case FERRY__STORED_F8_E4M3:
        EACH(uint8_t, uint16_t, half_of_e4m3(v))
    case FERRY__STORED_F8_E5M2:
        EACH(uint8_t, uint16_t, v << 8)
    case FERRY__STORED_AS_DTYPE:
    case FERRY__STORED_OTHERWISE:
    case FERRY__STORED_I8_ROWS:
        break;
    }
    return -1;
}

int64_t ferry__storage_narrow(enum ferry__storage storage, const void *from, int64_t n, void *to)
{
    switch (storage) {
    case FERRY__STORED_U16:
        EACH_UNLESS(uint32_t, uint16_t, v > UINT16_MAX)
    case FERRY__STORED_U64:
        EACH_UNLESS(int64_t, uint64_t, v < 0)
    case FERRY__STORED_I16:
        EACH_UNLESS(int32_t, int16_t, v < INT16_MIN || v > INT16_MAX)
    case FERRY__STORED_BOOL:
        EACH(uint8_t, uint8_t, v != 0)
    case FERRY__STORED_F8_E4M3:
        EACH(uint16_t, uint8_t, e4m3_of_half(v))
    case FERRY__STORED_F8_E5M2:
        EACH(uint16_t, uint8_t, e5m2_of_half(v))
    case FERRY__STORED_AS_DTYPE:
    case FERRY__STORED_OTHERWISE:
    case FERRY__STORED_I8_ROWS:
        break;
    }
    return -1;
}
