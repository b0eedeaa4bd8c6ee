/* SPDX-License-Identifier: BSD-2-Clause */
#include "dlpack.h"

#include <ferry/ferry.h>

#include <stdlib.h>
#include <string.h>

static const struct dl_dtype types[FERRY_DTYPE_COUNT] = {
    [FERRY_F32] = { DL_FLOAT, 32, 1 }, [FERRY_F64] = { DL_FLOAT, 64, 1 },
    [FERRY_F16] = { DL_FLOAT, 16, 1 }, [FERRY_BF16] = { DL_BFLOAT, 16, 1 },
    [FERRY_I8] = { DL_INT, 8, 1 },     [FERRY_U8] = { DL_UINT, 8, 1 },
    [FERRY_I32] = { DL_INT, 32, 1 },   [FERRY_I64] = { DL_INT, 64, 1 },
    [FERRY_U32] = { DL_UINT, 32, 1 },
};

struct dl_dtype ferry__dl_dtype(ferry_dtype dtype)
{
    return types[dtype];
}

int ferry__dl_dtype_of(struct dl_dtype type, const char *function, ferry_dtype *out)
{
    for (int i = 0; i < FERRY_DTYPE_COUNT && type.lanes == 1; i++)
        if (types[i].code == type.code && types[i].bits == type.bits) {
            *out = (ferry_dtype)i;
            return FERRY_OK;
        }
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%s: type code %u, %u bits, %u lanes: ferry has no such dtype", function,
                           type.code, type.bits, type.lanes);
}

int ferry__dl_device(ferry_device *dev, const char *function, struct dl_device *out)
{
    const ferry_device_properties *p = dev ? ferry_device_get_properties(dev) : NULL;
    const char *colon = strchr(ferry_device_name(dev), ':');

    out->device_type = DL_CPU;
    out->device_id = 0;
    if (!p || p->host_memory)
        return FERRY_OK;
    if (strcmp(p->plugin, "opencl") == 0) {
        out->device_type = DL_OPENCL;
        out->device_id = colon ? (int32_t)strtol(colon + 1, NULL, 10) : 0;
        return FERRY_OK;
    }
    if (strcmp(p->plugin, "cuda") == 0) {
        out->device_type = DL_CUDA;
        return ferry_device_native(dev, "cuda_device", &out->device_id, sizeof(int));
    }
    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: DLPack has no name for the device %s", function,
                           p->name);
}
