/* SPDX-License-Identifier: BSD-2-Clause */
/* The properties of a device, queried without a context. */
#include "cuda.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cuda_device_count(void *plugin, uint32_t *out)
{
    int ordinals[CUDA_MAX_DEVICES];

    (void)plugin;
    return cuda_ordinals(ordinals, out);
}

int cuda_find_ordinal(uint32_t index, int *out)
{
    int ordinals[CUDA_MAX_DEVICES];
    uint32_t count = 0;
    int err = cuda_ordinals(ordinals, &count);

    if (!err && index >= count)
        err =
            cuda_host->error(FERRY_ENODEV, "device %u does not exist, there are %u", index, count);
    if (!err)
        *out = ordinals[index];
    return err;
}

/* ---- properties ---- */

/*
 * Whether shared memory is cached. Below compute capability 7.2 an integrated device disables the
 * host's caches for shared memory (CUDA for Tegra, "Memory Management"), including pinned memory,
 * which makes host reads many times slower.
 */
static bool is_coherent(int major, int minor)
{
    return major * 10 + minor >= 72;
}

/*
 * Whether the device is unified. An integrated device has only the host's memory. One that accesses
 * the host's page tables (Grace and Hopper) has faster memory of its own, where its blobs belong.
 * If sharing disables the caches, copies are faster.
 */
static bool is_unified(const struct cudaDeviceProp *prop, bool host_page_tables,
                       enum cuda_unified wanted)
{
    if (wanted == CUDA_UNIFIED_ON)
        return prop->integrated || host_page_tables;
    return wanted == CUDA_UNIFIED_AUTO && prop->integrated && is_coherent(prop->major, prop->minor);
}

int cuda_pinned_is_cached(int ordinal, bool *out)
{
    int integrated = 0, major = 0, minor = 0;
    int err = cuda_attribute(cudaDevAttrIntegrated, ordinal, &integrated);

    if (!err)
        err = cuda_attribute(cudaDevAttrComputeCapabilityMajor, ordinal, &major);
    if (!err)
        err = cuda_attribute(cudaDevAttrComputeCapabilityMinor, ordinal, &minor);
    *out = !integrated || is_coherent(major, minor);
    return err;
}

static void describe(const struct cudaDeviceProp *prop, int ordinal, ferry_plugin_properties *out)
{
    cuda_describe(prop, ordinal, out);
    snprintf(out->pci, sizeof(out->pci), "%04x:%02x:%02x.0", (unsigned)prop->pciDomainID,
             (unsigned)prop->pciBusID, (unsigned)prop->pciDeviceID);
    out->flags = FERRY_DEVICE_POINTERS;
    out->memory_total = out->max_alloc = prop->totalGlobalMem;
    out->sync_domain = 1;
    out->host_alignment = (uint64_t)sysconf(_SC_PAGESIZE);
}

int cuda_attribute(enum cudaDeviceAttr which, int ordinal, int *out)
{
    cudaError_t error = cudaDeviceGetAttribute(out, which, ordinal);

    return error == cudaSuccess ? 0 : cuda_fail(CALL(cudaDeviceGetAttribute), error);
}

int cuda_properties_of(int ordinal, const struct cuda_settings *set, ferry_plugin_properties *out)
{
    struct cudaDeviceProp prop;
    cudaError_t error = cudaGetDeviceProperties(&prop, ordinal);
    int host_page_tables = 0, pools = 0, err;

    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaGetDeviceProperties), error);
    err = cuda_attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables, ordinal,
                         &host_page_tables);
    if (!err)
        err = cuda_attribute(cudaDevAttrMemoryPoolsSupported, ordinal, &pools);
    if (err)
        return err;
    describe(&prop, ordinal, out);
    if (is_unified(&prop, host_page_tables != 0, set->unified))
        out->flags |= FERRY_DEVICE_UNIFIED;
    if (pools && set->ordered_alloc)
        out->flags |= FERRY_DEVICE_ORDERED_ALLOC;
    return 0;
}

/*
 * Replaces the settings of an open device by those that it was opened with, even if the options
 * have changed since.
 */
static void settle(const struct cuda_device *dev, ferry_plugin_properties *out)
{
    out->flags = FERRY_DEVICE_POINTERS | (dev->unified ? FERRY_DEVICE_UNIFIED : 0) |
                 (dev->pool ? FERRY_DEVICE_ORDERED_ALLOC : 0);
}

int cuda_properties(void *plugin, uint32_t index, void *device, ferry_plugin_properties *out)
{
    const struct cuda_device *dev = device;
    ferry_plugin_properties mine = { 0 };
    struct cuda_settings set;
    int ordinal = dev ? dev->ordinal : 0;
    uint32_t size = out->struct_size < sizeof(mine) ? out->struct_size : (uint32_t)sizeof(mine);
    int err = cuda_settings_read(&set);

    (void)plugin;
    if (!err && !dev)
        err = cuda_find_ordinal(index, &ordinal);
    if (!err)
        err = cuda_properties_of(ordinal, &set, &mine);
    if (err)
        return err;
    if (dev)
        settle(dev, &mine);
    mine.struct_size = out->struct_size;
    memcpy(out, &mine, size);
    return 0;
}
