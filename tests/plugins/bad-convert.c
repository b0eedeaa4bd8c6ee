/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_convert"
#include "good.h"

static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev;
    return (op == FERRY_OP_AXPY || op == FERRY_OP_CONVERT) && dtype == FERRY_F32;
}

/* Claims that conversions to unknown dtypes are supported. */
static int pairs(void *dev, uint32_t x_dtype, uint32_t y_dtype)
{
    (void)dev;
    return x_dtype == FERRY_F32 && y_dtype > 40;
}

static int convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                   uint32_t y_dtype, ferry_ref y)
{
    (void)dev, (void)queue, (void)n, (void)x_dtype, (void)x, (void)y_dtype, (void)y;
    return FERRY_EUNSUPPORTED;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->supports = supports;
    ops->supports_convert = pairs;
    ops->convert = convert;
}
