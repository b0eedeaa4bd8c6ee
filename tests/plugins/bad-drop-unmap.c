/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_unmap"
#include "good.h"

/* Host memory is device memory; map allocates 8 bytes, which unmap leaks. */
static void *mapped;

static int import(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    (void)dev, (void)bytes, (void)flags;
    *out_handle = ptr;
    return 0;
}

static int unimport(void *dev, void *handle)
{
    (void)dev, (void)handle;
    return 0;
}

static int map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    (void)dev, (void)queue, (void)handle, (void)bytes, (void)access;
    mapped = malloc(8);
    return mapped ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

static int unmap(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue, (void)handle;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->import_host = import;
    ops->unimport_host = unimport;
    ops->map = map;
    ops->unmap = unmap;
}
