/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device: opening, adoption and closing. Opening retains the primary context, which the program's
 * own runtime calls share.
 */
#include "dnn.h"
#include "kernels.h"
#include "list.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/*
 * The release threshold of the pool: as much as ferry's cache limit for this plugin. The default is
 * that of the core, for a device with memory of its own or for one that shares the host's.
 */
static uint64_t threshold(const struct cuda_settings *set, const struct cuda_device *dev)
{
    uint64_t quarter = dev->memory_total / 4, part = dev->memory_total / 16;
    uint64_t least = quarter < UINT64_C(1) << 30 ? quarter : UINT64_C(1) << 30;

    if (set->pool_limit != UINT64_MAX)
        return set->pool_limit;
    return dev->unified || part < least ? least : part;
}

/* Creates a pool of the plugin's own, because the device's default pool belongs to the program. */
static int open_pool(struct cuda_device *dev, const struct cuda_settings *set)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
                                      .handleTypes = cudaMemHandleTypeNone,
                                      .location = { .type = cudaMemLocationTypeDevice,
                                                    .id = dev->ordinal } };
    uint64_t keep = threshold(set, dev);
    cudaError_t error = cudaMemPoolCreate(&dev->pool, &props);

    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaMemPoolCreate), error);
    error = cudaMemPoolSetAttribute(dev->pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (error == cudaSuccess)
        return 0;
    (void)cudaMemPoolDestroy(dev->pool);
    dev->pool = NULL;
    return cuda_fail(CALL(cudaMemPoolSetAttribute), error);
}

/*
 * Creates the default queue's stream, unless it exists, and the pool. Called with the context
 * current.
 */
static int furnish(struct cuda_device *dev)
{
    ferry_plugin_properties p = { 0 };
    struct cuda_settings set;
    cudaError_t error;
    bool cached = true;
    int page_tables = 0, err = cuda_settings_read(&set);

    if (!err)
        err = cuda_properties_of(dev->ordinal, &set, &p);
    if (!err)
        err = cuda_attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables, dev->ordinal,
                             &page_tables);
    if (!err)
        err = cuda_pinned_is_cached(dev->ordinal, &cached);
    if (err)
        return err;
    dev->unified = (p.flags & FERRY_DEVICE_UNIFIED) != 0;
    dev->host_page_tables = page_tables != 0;
    dev->plain = !cached && !dev->unified;
    dev->memory_total = p.memory_total;
    dev->dnn = set.dnn != CUDA_DNN_OFF && set.kernels != CUDA_KERNELS_OFF && cuda_dnn_load();
    dev->dnn_depthwise = set.dnn == CUDA_DNN_ALL;
    dev->lists.use = set.graphs;
    err = cuda_modules_create(dev, &set, &dev->modules);
    if (err)
        return err;
    if (dev->main.owned) {
        error = cudaStreamCreateWithFlags(&dev->main.stream, cudaStreamNonBlocking);
        if (error != cudaSuccess) {
            cuda_modules_destroy(dev->modules);
            return cuda_fail(CALL(cudaStreamCreateWithFlags), error);
        }
    }
    err = p.flags & FERRY_DEVICE_ORDERED_ALLOC ? open_pool(dev, &set) : 0;
    if (err && dev->main.owned)
        (void)cudaStreamDestroy(dev->main.stream);
    if (err)
        cuda_modules_destroy(dev->modules);
    return err;
}

static int furnish_in_context(struct cuda_device *dev)
{
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (err)
        return err;
    err = furnish(dev);
    cuda_leave(&scope);
    return err;
}

static struct cuda_device *device_new(void)
{
    static _Atomic uint64_t opened;
    struct cuda_device *dev = calloc(1, sizeof(*dev));

    if (!dev) {
        (void)cuda_host->error(FERRY_ENOMEM, "out of host memory for a device");
        return NULL;
    }
    dev->serial = ++opened;
    pthread_mutex_init(&dev->lock, NULL);
    return dev;
}

static void device_delete(struct cuda_device *dev)
{
    cuda_blocks_clear(&dev->blocks);
    cuda_blocks_clear(&dev->imports);
    cuda_late_clear(dev);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

static int retain(struct cuda_device *dev)
{
    CUresult error = cuda_driver.device_get(&dev->cu, dev->ordinal);

    if (error)
        return cuda_fail_driver(CALL(cuDeviceGet), error);
    error = cuda_driver.primary_retain(&dev->context, dev->cu);
    if (error)
        return cuda_fail_driver(CALL(cuDevicePrimaryCtxRetain), error);
    dev->primary = true;
    return 0;
}

int cuda_device_open(void *plugin, uint32_t index, void **out_dev)
{
    struct cuda_device *dev = device_new();
    int err = dev ? 0 : FERRY_ENOMEM;

    (void)plugin;
    if (err)
        return err;
    dev->index = index;
    dev->main.owned = true;
    err = cuda_find_ordinal(index, &dev->ordinal);
    if (!err)
        err = cuda_driver_load();
    if (!err)
        err = cuda_blas_load();
    if (!err)
        err = retain(dev);
    if (err)
        goto err_delete;
    err = furnish_in_context(dev);
    if (err)
        goto err_release;
    *out_dev = dev;
    return 0;

err_release:
    cuda_driver.primary_release(dev->cu);
err_delete:
    device_delete(dev);
    return err;
}

/* ---- the program's own stream ---- */

/* Finds the stream's context, and whether that is its device's primary one. */
static int adopt_context(struct cuda_device *dev)
{
    struct cuda_scope scope;
    CUresult failed;
    CUcontext primary;
    cudaError_t error;
    unsigned flags = 0;
    int active = 0, err = cuda_stream_refuse(dev->main.stream);

    if (err)
        return err;
    failed = cuda_driver.stream_get_ctx((CUstream)dev->main.stream, &dev->context);
    if (failed)
        return cuda_fail_driver(CALL(cuStreamGetCtx), failed);
    err = cuda_enter_on(dev, NULL, &scope);
    if (err)
        return err;
    error = cudaGetDevice(&dev->ordinal);
    cuda_leave(&scope);
    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaGetDevice), error);
    failed = cuda_driver.device_get(&dev->cu, dev->ordinal);
    if (!failed)
        failed = cuda_driver.primary_state(dev->cu, &flags, &active);
    if (!failed && active)
        failed = cuda_driver.primary_retain(&primary, dev->cu);
    if (failed)
        return cuda_fail_driver(CALL(cuDevicePrimaryCtxRetain), failed);
    dev->primary = active && primary == dev->context;
    if (active && !dev->primary)
        cuda_driver.primary_release(dev->cu);
    return 0;
}

static uint32_t index_of(int ordinal)
{
    int ordinals[CUDA_MAX_DEVICES];
    uint32_t count = 0;

    if (cuda_ordinals(ordinals, &count))
        return UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (ordinals[i] == ordinal)
            return i;
    return UINT32_MAX;
}

int cuda_adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
               void **out_dev, uint32_t *out_index)
{
    struct cuda_device *dev;
    uint32_t count;
    int err = cuda_device_count(plugin, &count);

    if (err)
        return err;
    if (n != 1 || strcmp(names[0], CUDA_PLUGIN "_stream") != 0)
        return cuda_host->error(FERRY_EINVAL,
                                "expected exactly one object, a \"" CUDA_PLUGIN "_stream\"; %s",
                                n ? names[n - 1] : "there is none");
    dev = device_new();
    if (!dev)
        return FERRY_ENOMEM;
    dev->main.stream = values[0];
    err = cuda_driver_load();
    if (!err)
        err = cuda_blas_load();
    if (!err)
        err = adopt_context(dev);
    if (!err) {
        err = furnish_in_context(dev);
        if (err && dev->primary)
            cuda_driver.primary_release(dev->cu);
    }
    if (err) {
        device_delete(dev);
        return err;
    }
    dev->index = index_of(dev->ordinal);
    *out_index = dev->index;
    *out_dev = dev;
    return 0;
}

/* ---- closing ---- */

static void strip(struct cuda_device *dev)
{
    struct cuda_scope scope;
    cudaError_t before;

    if (cuda_enter(dev, &scope)) {
        cuda_profile_end(dev, false);
        return;
    }
    before = cudaPeekAtLastError();
    cuda_free_late(dev);
    for (unsigned i = 0; i < dev->spares; i++)
        (void)cudaEventDestroy(dev->spare[i]);
    cuda_profile_end(dev, true);
    cuda_list_end_all(dev);
    cuda_queue_release(dev, &dev->main);
    cuda_queue_release(dev, &dev->chooser);
    cuda_modules_destroy(dev->modules);
    if (dev->pool)
        (void)cudaMemPoolDestroy(dev->pool);
    if (before == cudaSuccess)
        (void)cudaGetLastError();
    cuda_leave(&scope);
}

void cuda_device_close(void *device)
{
    struct cuda_device *dev = device;

    strip(dev);
    if (dev->primary)
        cuda_driver.primary_release(dev->cu);
    device_delete(dev);
}

/* ---- the rest ---- */

int cuda_counters(void *device, ferry_plugin_counters *out)
{
    struct cuda_device *dev = device;
    ferry_plugin_counters mine = { 0 };
    uint32_t size = out->struct_size < sizeof(mine) ? out->struct_size : (uint32_t)sizeof(mine);

    pthread_mutex_lock(&dev->lock);
    mine.live_blocks = dev->blocks.count;
    mine.live_imports = dev->imports.count;
    pthread_mutex_unlock(&dev->lock);
    mine.struct_size = out->struct_size;
    mine.live_bytes = dev->counters.live_bytes;
    mine.live_host_blocks = dev->counters.live_host_blocks;
    mine.live_maps = dev->counters.live_maps;
    mine.live_queues = dev->counters.live_queues;
    mine.live_events = dev->counters.live_events;
    mine.copies_h2d = dev->counters.copies[0];
    mine.copies_d2h = dev->counters.copies[1];
    mine.copies_d2d = dev->counters.copies[2];
    mine.bytes_h2d = dev->counters.bytes[0];
    mine.bytes_d2h = dev->counters.bytes[1];
    mine.bytes_d2d = dev->counters.bytes[2];
    mine.maps = dev->counters.maps;
    mine.unmaps = dev->counters.unmaps;
    mine.memsets = dev->counters.memsets;
    mine.ops = dev->counters.ops;
    memcpy(out, &mine, size);
    return 0;
}

int cuda_native(void *device, const char *what, void *out, uint64_t size)
{
    struct cuda_device *dev = device;

    if (!strcmp(what, CUDA_PLUGIN "_device")) {
        if (size != sizeof(int))
            return cuda_host->error(FERRY_EINVAL, "%s is an int", what);
        memcpy(out, &dev->ordinal, sizeof(int));
        return 0;
    }
    if (CUDA_HAS_CONTEXTS && !strcmp(what, CUDA_PLUGIN "_context")) {
        if (size != sizeof(CUcontext))
            return cuda_host->error(FERRY_EINVAL, "%s is a CUcontext", what);
        memcpy(out, &dev->context, sizeof(CUcontext));
        return 0;
    }
    return cuda_queue_native(device, NULL, what, out, size);
}
