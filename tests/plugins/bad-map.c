/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_map"
#define GOOD_ASYNC
#include "good.h"

/* Handles are host memory, and map does not wait for the queue. */
static int import(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    (void)dev, (void)bytes, (void)flags;
    *out_handle = ptr;
    return 0;
}

static int unimport(void *dev, void *handle)
{
    (void)handle;
    return good_synchronize(dev);
}

static int map_at_once(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    (void)dev, (void)queue, (void)handle, (void)bytes, (void)access;
    return 0;
}

static int unmap(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue, (void)handle;
    return 0;
}

static void rest(const struct good_work *w)
{
    (void)w;
}

/* Delayed, so that a map that does not wait is detected. */
static int set_late(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    const struct good_work w = { .run = rest, .bytes = GOOD_ARENA };
    int err = good_do(&w);

    return err ? err : good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->import_host = import;
    ops->unimport_host = unimport;
    ops->map = map_at_once;
    ops->unmap = unmap;
    ops->memset = set_late;
}
