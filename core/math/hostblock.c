/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/math/hostblock.h"

#include "core/math/half.h"

/*
 * A whole double within [low, high] as an integer; the bounds are exact in double, but I64's high.
 */
static int64_t saturate(double value, int64_t low, int64_t high)
{
    double whole = ferry__round_even(value);

    if (whole != whole)
        return 0;
    if (whole >= (double)high)
        return high;
    return whole <= (double)low ? low : (int64_t)whole;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

/*
 * As a double that rounds on to a shorter type as the integer itself would: bits that do not fit
 * leave their trace in the last one that does.
 */
static double to_odd(int64_t value)
{
    if (value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53)
        return (double)value;
    return (double)((value & 0x7ff) ? (value & ~INT64_C(0x7ff)) | 0x800 : value);
}

#define EACH(type, expression)                        \
    {                                                 \
        const type *from = (const type *)p + first;   \
        for (int i = 0; i < n; i++) {                 \
            const type v = from[(int64_t)i * stride]; \
            out[i] = (expression);                    \
        }                                             \
        break;                                        \
    }

void ferry__block_load(ferry_dtype t, const void *p, int64_t first, int64_t stride, int n,
                       double *out)
{
    switch (t) {
    case FERRY_F32:
        EACH(float, (double)v)
    case FERRY_F64:
        EACH(double, v)
    case FERRY_F16:
        EACH(uint16_t, (double)ferry__f16_to_float(v))
    case FERRY_BF16:
        EACH(uint16_t, (double)ferry__bf16_to_float(v))
    case FERRY_I8:
        EACH(int8_t, (double)v)
    case FERRY_U8:
        EACH(uint8_t, (double)v)
    case FERRY_I32:
        EACH(int32_t, (double)v)
    case FERRY_I64:
        EACH(int64_t, (double)v)
    case FERRY_U32:
        EACH(uint32_t, (double)v)
    }
}

void ferry__block_load_integer(ferry_dtype t, const void *p, int64_t first, int n, int64_t *out)
{
    const int64_t stride = 1;

    switch (t) {
    case FERRY_I8:
        EACH(int8_t, v)
    case FERRY_U8:
        EACH(uint8_t, v)
    case FERRY_I32:
        EACH(int32_t, v)
    case FERRY_I64:
        EACH(int64_t, v)
    case FERRY_U32:
        EACH(uint32_t, v)
    case FERRY_F32:
    case FERRY_F64:
    case FERRY_F16:
    case FERRY_BF16:
        break;
    }
}

#undef EACH
#define EACH(type, expression)                            \
    {                                                     \
        type *to = (type *)p + first;                     \
        for (int i = 0; i < n; i++)                       \
            to[(int64_t)i * stride] = (type)(expression); \
        break;                                            \
    }

void ferry__block_store(ferry_dtype t, void *p, int64_t first, int64_t stride, int n,
                        const double *in)
{
    switch (t) {
    case FERRY_F32:
        EACH(float, in[i])
    case FERRY_F64:
        EACH(double, in[i])
    case FERRY_F16:
        EACH(uint16_t, ferry__f16_from_double(in[i]))
    case FERRY_BF16:
        EACH(uint16_t, ferry__bf16_from_double(in[i]))
    case FERRY_I8:
        EACH(int8_t, saturate(in[i], INT8_MIN, INT8_MAX))
    case FERRY_U8:
        EACH(uint8_t, saturate(in[i], 0, UINT8_MAX))
    case FERRY_I32:
        EACH(int32_t, saturate(in[i], INT32_MIN, INT32_MAX))
    case FERRY_I64:
        EACH(int64_t, saturate(in[i], INT64_MIN, INT64_MAX))
    case FERRY_U32:
        EACH(uint32_t, saturate(in[i], 0, UINT32_MAX))
    }
}

void ferry__block_store_integer(ferry_dtype t, void *p, int64_t first, int n, const int64_t *in)
{
    const int64_t stride = 1;

    switch (t) {
    case FERRY_F32:
        EACH(float, in[i])
    case FERRY_F64:
        EACH(double, in[i])
    case FERRY_F16:
        EACH(uint16_t, ferry__f16_from_double(to_odd(in[i])))
    case FERRY_BF16:
        EACH(uint16_t, ferry__bf16_from_double(to_odd(in[i])))
    case FERRY_I8:
        EACH(int8_t, clamp(in[i], INT8_MIN, INT8_MAX))
    case FERRY_U8:
        EACH(uint8_t, clamp(in[i], 0, UINT8_MAX))
    case FERRY_I32:
        EACH(int32_t, clamp(in[i], INT32_MIN, INT32_MAX))
    case FERRY_I64:
        EACH(int64_t, in[i])
    case FERRY_U32:
        EACH(uint32_t, clamp(in[i], 0, UINT32_MAX))
    }
}
