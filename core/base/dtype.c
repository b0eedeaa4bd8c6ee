/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/dtype.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[FERRY_DTYPE_COUNT] = {
    [FERRY_F32] = { "F32", 4 },   [FERRY_F64] = { "F64", 8 }, [FERRY_F16] = { "F16", 2 },
    [FERRY_BF16] = { "BF16", 2 }, [FERRY_I8] = { "I8", 1 },   [FERRY_U8] = { "U8", 1 },
    [FERRY_I32] = { "I32", 4 },   [FERRY_I64] = { "I64", 8 }, [FERRY_U32] = { "U32", 4 },
};

size_t ferry_dtype_size(ferry_dtype t)
{
    return (unsigned)t < FERRY_DTYPE_COUNT ? dtypes[t].size : 0;
}

const char *ferry_dtype_name(ferry_dtype t)
{
    return (unsigned)t < FERRY_DTYPE_COUNT ? dtypes[t].name : "?";
}
