/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/math/hostblock.h"

#include "common/half.h"
#include "common/rounding.h"

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
        EACH(int8_t, ferry__saturate(in[i], INT8_MIN, INT8_MAX))
    case FERRY_U8:
        EACH(uint8_t, ferry__saturate(in[i], 0, UINT8_MAX))
    case FERRY_I32:
        EACH(int32_t, ferry__saturate(in[i], INT32_MIN, INT32_MAX))
    case FERRY_I64:
        EACH(int64_t, ferry__saturate(in[i], INT64_MIN, INT64_MAX))
    case FERRY_U32:
        EACH(uint32_t, ferry__saturate(in[i], 0, UINT32_MAX))
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
        EACH(uint16_t, ferry__f16_from_double(ferry__round_odd(in[i])))
    case FERRY_BF16:
        EACH(uint16_t, ferry__bf16_from_double(ferry__round_odd(in[i])))
    case FERRY_I8:
        EACH(int8_t, ferry__clamp(in[i], INT8_MIN, INT8_MAX))
    case FERRY_U8:
        EACH(uint8_t, ferry__clamp(in[i], 0, UINT8_MAX))
    case FERRY_I32:
        EACH(int32_t, ferry__clamp(in[i], INT32_MIN, INT32_MAX))
    case FERRY_I64:
        EACH(int64_t, in[i])
    case FERRY_U32:
        EACH(uint32_t, ferry__clamp(in[i], 0, UINT32_MAX))
    }
}
