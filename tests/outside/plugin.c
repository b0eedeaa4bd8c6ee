/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin written outside of ferry's tree, against installed headers: only the mandatory entries.
 * Its device is ordinary memory that the program must not access.
 */
#include <ferry/plugin.h>

#include <stdlib.h>
#include <string.h>

FERRY_PLUGIN(.name = "outside", .version = "1.0", .vendor = "the author of the program");

static const ferry_host *services;

static int outside_device_count(void *plugin, uint32_t *out)
{
    (void)plugin;
    *out = 1;
    return FERRY_OK;
}

static int outside_device_open(void *plugin, uint32_t index, void **out_dev)
{
    static int the_device;

    (void)plugin;
    if (index != 0)
        return services->error(FERRY_ENODEV, "there is one device, not %u", index + 1);
    *out_dev = &the_device;
    return FERRY_OK;
}

static void outside_device_close(void *dev)
{
    (void)dev;
}

static int outside_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                         uint32_t *out_flags)
{
    uint64_t rounded = (bytes + 63) / 64 * 64;
    void *block;

    (void)dev;
    (void)queue;
    (void)flags;
    (void)out_flags;
    block = rounded >= bytes ? aligned_alloc(64, (size_t)rounded) : NULL;
    if (!block)
        return services->error(FERRY_ENOMEM, "aligned_alloc failed");
    *out_handle = block;
    return FERRY_OK;
}

static int outside_free(void *dev, void *queue, void *handle)
{
    (void)dev;
    (void)queue;
    free(handle);
    return FERRY_OK;
}

static int outside_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                          uint64_t bytes)
{
    (void)dev;
    (void)queue;
    (void)kind;
    memmove((char *)dst.handle + dst.offset, (const char *)src.handle + src.offset, (size_t)bytes);
    return FERRY_OK;
}

static int outside_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    (void)dev;
    (void)queue;
    memset((char *)dst.handle + dst.offset, (int)(byte & 255), (size_t)bytes);
    return FERRY_OK;
}

static int outside_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha,
                        ferry_cref x, ferry_ref y)
{
    const float *from = (const float *)(const void *)((const char *)x.handle + x.offset);
    float *to = (float *)(void *)((char *)y.handle + y.offset);

    (void)dev;
    (void)queue;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    for (int64_t i = 0; i < n; i++)
        to[i] += (float)alpha * from[i];
    return FERRY_OK;
}

static int outside_synchronize(void *dev)
{
    (void)dev;
    return FERRY_OK;
}

static const ferry_plugin_ops table = {
    .struct_size = sizeof(ferry_plugin_ops),
    .device_count = outside_device_count,
    .device_open = outside_device_open,
    .device_close = outside_device_close,
    .alloc = outside_alloc,
    .free = outside_free,
    .memcpy = outside_memcpy,
    .memset = outside_memset,
    .axpy = outside_axpy,
    .synchronize = outside_synchronize,
};

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    services = host;
    *out = &table;
    return FERRY_OK;
}
