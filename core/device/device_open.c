/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/device_open.h"

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/device/at_exit.h"
#include "core/device/device_list.h"
#include "core/device/pool.h"
#include "core/device/queue.h"
#include "core/device/lent.h"
#include "core/device/profile.h"
#include "core/device/trace_lanes.h"
#include "core/device/unified_probe.h"
#include "core/plugin/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- properties ----------------------------------------------------------------------------- */

/* Sets the kind of the device's memory from the plugin's flags. */
static void describe_memory(ferry_device_properties *out, uint32_t flags)
{
    out->host_memory = (flags & FERRY_DEVICE_HOST_MEMORY) != 0;
    out->unified = (flags & FERRY_DEVICE_UNIFIED) != 0;
    out->discrete = !out->host_memory && !out->unified;
    out->host_processors = (flags & FERRY_DEVICE_HOST_PROCESSORS) != 0;
}

/* Fills in the plugin's description of the device, and the public structure that points into it. */
static int describe(ferry_device *dev, struct ferry__description *out)
{
    ferry_plugin_properties *said = &out->said;
    int err;

    memset(out, 0, sizeof *out);
    said->struct_size = sizeof *said;
    ferry__host_enter(dev->plugin);
    err = dev->ops->properties(dev->ops->plugin, dev->index, dev->dev, said);
    ferry__host_leave();
    if (err)
        return ferry__device_fail(dev, "properties", UINT64_MAX, err);
    said->description[sizeof said->description - 1] = '\0';
    said->uuid[sizeof said->uuid - 1] = '\0';
    said->pci[sizeof said->pci - 1] = '\0';
    out->properties = (ferry_device_properties){
        .struct_size = sizeof out->properties,
        .name = dev->name,
        .plugin = dev->plugin->name,
        .description = said->description,
        .uuid = said->uuid,
        .pci = said->pci,
        .memory_total = said->memory_total,
        .max_alloc = said->max_alloc,
        .offset_alignment = said->offset_alignment > 1 ? said->offset_alignment : 0,
        .max_binding = said->max_binding,
    };
    describe_memory(&out->properties, said->flags);
    return 0;
}

/* ---- opening and ending --------------------------------------------------------------------- */

static void device_delete(ferry_device *dev)
{
    pthread_mutex_destroy(&dev->queue.lock);
    pthread_mutex_destroy(&dev->queue.life);
    pthread_mutex_destroy(&dev->open_lock);
    pthread_mutex_destroy(&dev->lent_lock);
    free(dev);
}

/* Probes whether the memory that the plugin declares as unified is coherent. */
static int check_unified(ferry_device *dev)
{
    bool coherent = false;
    int err = ferry__unified_probe(dev, &coherent);

    if (err || coherent)
        return err;
    dev->flags &= ~FERRY_DEVICE_UNIFIED;
    describe_memory(&dev->opened.properties, dev->flags);
    return 0;
}

static uint64_t max_block(const ferry_plugin_properties *said)
{
    uint64_t alloc = said->max_alloc ? said->max_alloc : UINT64_MAX;

    return said->max_binding && said->max_binding < alloc ? said->max_binding : alloc;
}

/*
 * Creates everything that an open device has besides dev->dev, which is set. The device is not
 * visible to other threads yet.
 */
static int set_up(ferry_device *dev)
{
    int err = describe(dev, &dev->opened);

    if (err)
        return err;
    dev->flags = dev->opened.said.flags;
    dev->sync_domain = dev->opened.said.sync_domain;
    dev->host_alignment = dev->opened.said.host_alignment;
    dev->offset_alignment =
        dev->opened.said.offset_alignment ? dev->opened.said.offset_alignment : 1;
    dev->max_block = max_block(&dev->opened.said);
    if (ferry__device_is(dev, FERRY_DEVICE_UNIFIED)) {
        err = check_unified(dev);
        if (err)
            return err;
    }
    err = ferry__device_list_take_slot(dev);
    if (err)
        return err;
    err = ferry__pool_create(dev, dev->plugin->pool_limit, dev->plugin->budget, &dev->pool);
    if (err) {
        ferry__device_list_give_slot(dev);
        return err;
    }
    ferry__lent_offer();
    atomic_store_explicit(&dev->generation,
                          atomic_load_explicit(&ferry__forks, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&dev->shown, &dev->opened.properties, memory_order_release);
    return 0;
}

static int open_locked(ferry_device *dev)
{
    int err;

    if (atomic_load(&dev->state) != FERRY__DEVICE_CLOSED)
        return 0;
    err = ferry__at_exit_check(dev->plugin, dev->name);
    if (err)
        return err;
    ferry__host_enter(dev->plugin);
    err = dev->ops->device_open(dev->ops->plugin, dev->index, &dev->dev);
    ferry__host_leave();
    if (err)
        return ferry__device_fail(dev, "open", UINT64_MAX, err);
    err = set_up(dev);
    if (err) {
        dev->ops->device_close(dev->dev);
        dev->dev = NULL;
        return err;
    }
    atomic_store(&dev->state, FERRY__DEVICE_OPEN);
    ferry__log(FERRY_LOG_INFO, "%s: opened: %s", dev->name, dev->opened.said.description);
    return 0;
}

static int open_up(ferry_device *dev)
{
    int err;

    ferry__log_hold();
    pthread_mutex_lock(&dev->open_lock);
    err = open_locked(dev);
    pthread_mutex_unlock(&dev->open_lock);
    ferry__log_release();
    return err;
}

/*
 * Runs after the last release. A device that ended with the process stays allocated, and its
 * default queue keeps its events, so that leak checkers see the resources that its plugin could not
 * free as reachable.
 */
static void end(ferry_device *dev)
{
    if (atomic_load(&dev->ended))
        return;
    ferry__queue_forget(&dev->queue);
    if (dev->dev && !ferry__device_forked(dev)) {
        ferry__lent_trim(dev); /* only those of the default queue are left, since the other queues
                                * were destroyed */
        ferry__pool_destroy(dev->pool);
        ferry__lanes_close(dev);
        dev->ops->device_close(dev->dev);
    }
    ferry__profile_forget(dev);
    ferry__device_list_give_slot(dev);
    ferry__device_list_forget(dev);
    device_delete(dev);
}

/* ---- coming to be --------------------------------------------------------------------------- */

static ferry_device *device_new(const struct ferry__plugin *plugin, uint32_t index, bool strict)
{
    ferry_device *dev = calloc(1, sizeof *dev);

    if (!dev) {
        ferry__error(FERRY_ENOMEM, "%s:%" PRIu32 ": no memory for the device", plugin->name, index);
        return NULL;
    }
    dev->open_up = open_up;
    dev->end = end;
    dev->plugin = plugin;
    dev->ops = &plugin->ops;
    dev->index = index;
    dev->strict = strict;
    dev->events = (plugin->given & FERRY__GIVEN_EVENTS) != 0;
    atomic_init(&dev->generation, atomic_load_explicit(&ferry__forks, memory_order_relaxed));
    atomic_init(&dev->refs, 1);
    pthread_mutex_init(&dev->open_lock, NULL);
    pthread_mutex_init(&dev->lent_lock, NULL);
    snprintf(dev->name, sizeof dev->name, "%s:%" PRIu32, plugin->name, index);
    ferry__queue_init(&dev->queue, dev, NULL);
    return dev;
}

int ferry__device_get(const struct ferry__plugin *plugin, uint32_t index, bool strict,
                      ferry_device **out)
{
    ferry_device *dev = ferry__device_list_find(plugin, index, strict);
    int err;

    if (!dev) {
        ferry_device *fresh = device_new(plugin, index, strict);

        if (!fresh)
            return FERRY_ENOMEM;
        err = ferry__at_exit_check(plugin, fresh->name);
        if (!err)
            err = describe(fresh, &fresh->closed);
        if (err) {
            device_delete(fresh);
            return err;
        }
        if (!fresh->closed.properties.host_memory)
            ferry__at_exit_watch(plugin);
        atomic_init(&fresh->shown, &fresh->closed.properties);
        dev = ferry__device_list_add(fresh);
        if (dev != fresh) /* another thread has created the device meanwhile */
            device_delete(fresh);
    }
    *out = dev;
    return 0;
}

int ferry__device_adopt(const struct ferry__plugin *plugin, const ferry_native_object *items,
                        size_t n, bool strict, ferry_device **out)
{
    ferry_device *dev = device_new(plugin, UINT32_MAX, strict);
    const char **names = calloc(n + 1, sizeof *names);
    void **values = calloc(n + 1, sizeof *values);
    size_t i;
    int err = FERRY_ENOMEM;

    if (!dev || !names || !values) {
        ferry__error(err, "%s: adopt: no memory for the device", plugin->name);
        goto out_free;
    }
    for (i = 0; i < n; i++) {
        names[i] = items[i].what;
        values[i] = items[i].value;
    }
    snprintf(dev->name, sizeof dev->name, "%s:adopted", plugin->name);
    err = ferry__at_exit_check(plugin, dev->name);
    if (err)
        goto out_free;
    ferry__host_enter(plugin);
    err = plugin->ops.adopt(plugin->ops.plugin, names, values, n, &dev->dev, &dev->index);
    ferry__host_leave();
    if (err) {
        err = ferry__device_fail(dev, "adopt", UINT64_MAX, err);
        goto out_free;
    }
    err = set_up(dev);
    if (err) {
        plugin->ops.device_close(dev->dev);
        goto out_free;
    }
    if (!dev->opened.properties.host_memory)
        ferry__at_exit_watch(plugin);
    atomic_store(&dev->state, FERRY__DEVICE_OPEN);
    *out = dev;
    dev = NULL;
out_free:
    if (dev)
        device_delete(dev);
    free(names);
    free(values);
    return err;
}
