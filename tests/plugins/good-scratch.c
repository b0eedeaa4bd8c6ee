/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_scratch"
#define GOOD_ASYNC
#define GOOD_QUEUES
#include "good.h"

#include <stdio.h>

/*
 * A correct plugin whose axpy uses a copy of x in scratch memory, which is filled and read when the
 * work runs. With 2 elements it requests two blocks, with alpha 1e9 more memory than exists; ferry
 * must refuse a request while a device is opened. The plugin appends the blocks that it got, and
 * those that are freed (2), to the file that GOOD_SCRATCH names. With GOOD_SCRATCH_UNSAID the
 * plugin does not declare that it uses scratch memory.
 */

static void tell(int code, const void *block)
{
    const char *name = getenv("GOOD_SCRATCH");
    FILE *file = name ? fopen(name, "a") : NULL;

    if (!file)
        return;
    fprintf(file, "%d %p\n", code, block);
    fclose(file);
}

static int scratch(uint64_t bytes, void **out)
{
    int code;

    *out = NULL;
    code = good_host->scratch(bytes, out);
    tell(code, *out);
    return code;
}

static int axpy_by_scratch(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha,
                           ferry_cref x, ferry_ref y)
{
    uint64_t bytes = (uint64_t)n * sizeof(float);
    void *copy, *other;
    int err;

    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    err = scratch(alpha >= 1e9 ? GOOD_ARENA : bytes, &copy);
    if (!err && n == 2)
        err = scratch(bytes, &other);
    if (!err)
        err = good_memcpy(dev, queue, FERRY_MEMCPY_D2D, (ferry_ref){ copy, 0 }, x, bytes);
    if (!err)
        err = good_axpy(dev, queue, dtype, n, alpha, (ferry_cref){ copy, 0 }, y);
    return err;
}

static int open_and_ask(void *plugin, uint32_t index, void **out_dev)
{
    void *block;

    if (getenv("GOOD_SCRATCH"))
        scratch(64, &block);
    return good_device_open(plugin, index, out_dev);
}

static int free_and_tell(void *dev, void *queue, void *handle)
{
    tell(2, handle);
    return good_free(dev, queue, handle);
}

/* All queues use one in-order list of work. */
static int queue_destroy(void *dev, void *queue)
{
    good_synchronize(dev);
    free(queue);
    return 0;
}

static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    int err = good_properties(plugin, index, dev, out);

    if (!getenv("GOOD_SCRATCH_UNSAID"))
        out->flags |= FERRY_DEVICE_SCRATCH;
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->properties = properties;
    ops->device_open = open_and_ask;
    ops->free = free_and_tell;
    ops->axpy = axpy_by_scratch;
    ops->queue_destroy = queue_destroy;
}
