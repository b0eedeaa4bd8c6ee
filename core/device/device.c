/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/device.h"

#include "core/plugin/host.h"
#include "core/base/log.h"
#include "core/device/pool.h"
#include "core/device/unified_probe.h"
#include "core/device/queue.h"
#include "core/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which slots are taken, and by whom. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_device *slots[FERRY__SLOTS];

atomic_uint ferry__forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Held for a moment only, so that the child need not inherit it locked. */
static void before_fork(void)
{
    pthread_mutex_lock(&slots_lock);
}

static void forked_in_parent(void)
{
    pthread_mutex_unlock(&slots_lock);
}

static void forked_in_child(void)
{
    pthread_mutex_unlock(&slots_lock);
    atomic_fetch_add_explicit(&ferry__forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, forked_in_parent, forked_in_child);
}

bool ferry__device_forked(const ferry_device *dev)
{
    return dev->dev && dev->generation != atomic_load_explicit(&ferry__forks, memory_order_relaxed);
}

int ferry__device_fail(ferry_device *dev, const char *operation, uint64_t bytes, int code)
{
    char said[512];

    snprintf(said, sizeof said, "%s", ferry__host_take_error());
    if (code >= 0) /* an entry that breaks the contract; do not take it for success */
        code = FERRY_EPLUGIN;
    if (code == FERRY_ELOST)
        atomic_store(&dev->state, FERRY__DEVICE_LOST);
    if (!said[0])
        snprintf(said, sizeof said, "%s", ferry_strerror(code));
    if (bytes == UINT64_MAX)
        return ferry__error(code, "%s: %s: %s", dev->name, operation, said);
    return ferry__error(code, "%s: %s of %" PRIu64 " bytes: %s", dev->name, operation, bytes, said);
}

static int take_slot(ferry_device *dev)
{
    unsigned s;

    pthread_mutex_lock(&slots_lock);
    for (s = FERRY__HOST + 1; s < FERRY__SLOTS && slots[s]; s++)
        ;
    if (s < FERRY__SLOTS) {
        slots[s] = dev;
        dev->slot = s;
    }
    pthread_mutex_unlock(&slots_lock);
    if (s == FERRY__SLOTS)
        return ferry__error(FERRY_ENODEV, "%s: %u devices are open already, and no more can be",
                            dev->name, FERRY__SLOTS - 1);
    return 0;
}

static void give_slot(ferry_device *dev)
{
    pthread_mutex_lock(&slots_lock);
    if (dev->slot)
        slots[dev->slot] = NULL;
    dev->slot = 0;
    pthread_mutex_unlock(&slots_lock);
}

bool ferry__device_retain_alive(ferry_device *dev)
{
    unsigned n = atomic_load_explicit(&dev->refs, memory_order_relaxed);

    while (n && !atomic_compare_exchange_weak(&dev->refs, &n, n + 1))
        ;
    return n != 0;
}

ferry_device *ferry__device_host_memory(void)
{
    ferry_device *found = NULL;
    unsigned s;

    pthread_mutex_lock(&slots_lock);
    for (s = FERRY__HOST + 1; s < FERRY__SLOTS && !found; s++)
        if (slots[s] && ferry__device_is(slots[s], FERRY_DEVICE_HOST_MEMORY) &&
            atomic_load(&slots[s]->state) == FERRY__DEVICE_OPEN &&
            !ferry__device_forked(slots[s]) && ferry__device_retain_alive(slots[s]))
            found = slots[s];
    pthread_mutex_unlock(&slots_lock);
    return found;
}

int ferry__device_host_alloc(ferry_device *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                             uint32_t *out_flags)
{
    uint64_t a = dev->host_alignment;
    uint64_t rounded = a ? (bytes + a - 1) & ~(a - 1) : bytes;

    if ((dev->plugin->given & FERRY__GIVEN_HOST) || !ferry__device_is(dev, FERRY_DEVICE_UNIFIED) ||
        a <= 64 || (a & (a - 1)))
        return dev->ops->host_alloc(dev->dev, bytes, flags, out_ptr, out_flags);
    if (rounded < bytes || rounded > SIZE_MAX)
        return FERRY_ENOMEM;
    *out_ptr = aligned_alloc((size_t)a, (size_t)rounded); /* host_free's default frees it */
    *out_flags = 0;
    return *out_ptr ? 0 : FERRY_ENOMEM;
}

/* What the plugin says of the device, into the public structure. */
static void publish(ferry_device *dev, const ferry_plugin_properties *p)
{
    ferry_device_properties *out = &dev->properties;

    dev->described = *p;
    dev->described.description[sizeof p->description - 1] = '\0';
    dev->described.uuid[sizeof p->uuid - 1] = '\0';
    dev->described.pci[sizeof p->pci - 1] = '\0';
    dev->flags = p->flags;
    dev->sync_domain = p->sync_domain;
    dev->host_alignment = p->host_alignment;
    out->name = dev->name;
    out->plugin = dev->plugin->name;
    out->description = dev->described.description;
    out->uuid = dev->described.uuid;
    out->pci = dev->described.pci;
    out->memory_total = p->memory_total;
    out->max_alloc = p->max_alloc;
    out->host_memory = ferry__device_is(dev, FERRY_DEVICE_HOST_MEMORY);
    out->unified = ferry__device_is(dev, FERRY_DEVICE_UNIFIED);
    out->discrete = !out->host_memory && !out->unified;
}

static int describe(ferry_device *dev)
{
    ferry_plugin_properties p;
    int err;

    memset(&p, 0, sizeof p);
    p.struct_size = sizeof p;
    ferry__host_enter(dev->plugin);
    err = dev->ops->properties(dev->ops->plugin, dev->index, dev->dev, &p);
    ferry__host_leave();
    if (err)
        return ferry__device_fail(dev, "properties", UINT64_MAX, err);
    publish(dev, &p);
    return 0;
}

static ferry_device *device_new(const struct ferry__plugin *plugin, uint32_t index, bool strict)
{
    ferry_device *dev = calloc(1, sizeof *dev);

    if (!dev) {
        ferry__error(FERRY_ENOMEM, "%s:%" PRIu32 ": no memory for the device", plugin->name, index);
        return NULL;
    }
    pthread_once(&fork_once, watch_forks);
    dev->plugin = plugin;
    dev->ops = &plugin->ops;
    dev->index = index;
    dev->strict = strict;
    dev->events = (plugin->given & FERRY__GIVEN_EVENTS) != 0;
    dev->generation = atomic_load_explicit(&ferry__forks, memory_order_relaxed);
    atomic_init(&dev->refs, 1);
    pthread_mutex_init(&dev->open_lock, NULL);
    snprintf(dev->name, sizeof dev->name, "%s:%" PRIu32, plugin->name, index);
    ferry__queue_init(&dev->queue, dev, NULL);
    return dev;
}

static void device_delete(ferry_device *dev)
{
    pthread_mutex_destroy(&dev->queue.lock);
    pthread_mutex_destroy(&dev->queue.life);
    pthread_mutex_destroy(&dev->open_lock);
    free(dev);
}

int ferry__device_create(const struct ferry__plugin *plugin, uint32_t index, bool strict,
                         ferry_device **out)
{
    ferry_device *dev = device_new(plugin, index, strict);
    int err;

    if (!dev)
        return FERRY_ENOMEM;
    err = describe(dev);
    if (err) {
        device_delete(dev);
        return err;
    }
    *out = dev;
    return 0;
}

/* Takes the plugin's word that memory is shared, or does not. */
static int check_unified(ferry_device *dev)
{
    bool coherent = false;
    int err = ferry__probe_unified(dev, &coherent);

    if (err || coherent)
        return err;
    dev->flags &= ~FERRY_DEVICE_UNIFIED;
    dev->properties.unified = 0;
    dev->properties.discrete = !dev->properties.host_memory;
    return 0;
}

/* With dev->dev in place: everything else that an open device has. */
static int set_up(ferry_device *dev)
{
    int err = describe(dev);

    if (err)
        return err;
    if (ferry__device_is(dev, FERRY_DEVICE_UNIFIED)) {
        err = check_unified(dev);
        if (err)
            return err;
    }
    err = take_slot(dev);
    if (err)
        return err;
    err = ferry__pool_create(dev, dev->plugin->pool_limit, dev->plugin->budget, &dev->pool);
    if (err) {
        give_slot(dev);
        return err;
    }
    dev->generation = atomic_load_explicit(&ferry__forks, memory_order_relaxed);
    return 0;
}

static int open_locked(ferry_device *dev)
{
    int err;

    if (atomic_load(&dev->state) != FERRY__DEVICE_CLOSED)
        return 0;
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
    ferry__log(FERRY_LOG_INFO, "%s: opened: %s", dev->name, dev->described.description);
    return 0;
}

int ferry__device_open(ferry_device *dev)
{
    int err;

    if (atomic_load_explicit(&dev->state, memory_order_acquire) != FERRY__DEVICE_CLOSED)
        return 0;
    ferry__log_hold();
    pthread_mutex_lock(&dev->open_lock);
    err = open_locked(dev);
    pthread_mutex_unlock(&dev->open_lock);
    ferry__log_release();
    return err;
}

int ferry__device_adopt(const struct ferry__plugin *plugin, const ferry_native *items, size_t n,
                        bool strict, ferry_device **out)
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

ferry_device *ferry__device_retain(ferry_device *dev)
{
    atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
    return dev;
}

void ferry__device_release(ferry_device *dev)
{
    if (!dev || atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (dev->dev && !ferry__device_forked(dev)) {
        ferry__pool_destroy(dev->pool);
        dev->ops->device_close(dev->dev);
        give_slot(dev);
    }
    ferry__registry_forget(dev);
    device_delete(dev);
}

int ferry__device_usable(ferry_device *dev)
{
    if (ferry__device_ready(dev))
        return 0;
    if (ferry__device_forked(dev))
        return ferry__error(FERRY_EFORKED, "%s: %s", dev->name, ferry_strerror(FERRY_EFORKED));
    if (atomic_load_explicit(&dev->state, memory_order_acquire) == FERRY__DEVICE_LOST)
        return ferry__error(FERRY_ELOST, "%s: the device is lost", dev->name);
    return ferry__device_open(dev);
}

/* ---- the public half ---- */

const char *ferry_device_name(const ferry_device *dev)
{
    return dev ? dev->name : "";
}

const ferry_device_properties *ferry_device_get_properties(const ferry_device *dev)
{
    return dev ? &dev->properties : NULL;
}

int ferry_device_memory_free(ferry_device *dev, uint64_t *out)
{
    uint64_t available, total;
    int err;

    if (!dev || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_memory_free: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->memory_info(dev->dev, &available, &total);
    if (err)
        return ferry__device_fail(dev, "memory_info", UINT64_MAX, err);
    *out = available;
    return 0;
}

int ferry_device_synchronize(ferry_device *dev)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_synchronize: NULL device");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->synchronize(dev->dev);
    return err ? ferry__device_fail(dev, "synchronize", UINT64_MAX, err) : 0;
}

int ferry_device_stats(const ferry_device *dev, ferry_stats *out, size_t size_of_out)
{
    ferry_stats s;
    const struct ferry__counters *c;

    if (!dev || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_stats: NULL argument");
    c = &dev->stats;
    s.copies_h2d = c->copies[0];
    s.copies_d2h = c->copies[1];
    s.copies_d2d = c->copies[2];
    s.bytes_h2d = c->bytes[0];
    s.bytes_d2h = c->bytes[1];
    s.bytes_d2d = c->bytes[2];
    s.maps = c->maps;
    s.allocs = c->allocs;
    s.frees = c->frees;
    s.live_bytes = c->live_bytes;
    s.peak_bytes = c->peak_bytes;
    s.pool_hits = c->pool_hits;
    s.fallbacks = c->fallbacks;
    s.evictions = c->evictions;
    memcpy(out, &s, size_of_out < sizeof s ? size_of_out : sizeof s);
    return 0;
}

int ferry_device_native(ferry_device *dev, const char *what, void *out, size_t size)
{
    int err;

    if (!dev || !what || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_native: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->native(dev->dev, what, out, size);
    return err ? ferry__device_fail(dev, what, UINT64_MAX, err) : 0;
}

int ferry_device_extension(ferry_device *dev, const char *name, const void **out_table,
                           void **out_dev)
{
    const void *table = NULL;
    int err;

    if (!dev || !name || !out_table || !out_dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_extension: NULL argument");
    err = ferry__device_open(dev);
    if (!err)
        err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->extension(dev->dev, name, &table);
    if (err == FERRY_EUNSUPPORTED)
        return ferry__error(err, "%s: its plugin has no extension \"%s\"", dev->name, name);
    if (err)
        return ferry__device_fail(dev, "extension", UINT64_MAX, err);
    if (!table || *(const uint32_t *)table < sizeof(uint32_t))
        return ferry__error(FERRY_EPLUGIN, "%s: its extension \"%s\" is no table", dev->name, name);
    *out_table = table;
    *out_dev = dev->dev;
    return 0;
}

void *ferry_device_pointer(ferry_device *dev, ferry_ref ref)
{
    if (!dev) {
        ferry__error(FERRY_EINVAL, "ferry_device_pointer: NULL device");
        return NULL;
    }
    if (!ref.handle) {
        ferry__error_null_ref("ferry_device_pointer");
        return NULL;
    }
    if (!ferry__device_is(dev, FERRY_DEVICE_POINTERS)) {
        ferry__error(FERRY_EUNSUPPORTED, "%s: its handles are no pointers", dev->name);
        return NULL;
    }
    return (char *)ref.handle + ref.offset;
}

int ferry_device_set_budget(ferry_device *dev, uint64_t bytes)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_set_budget: NULL device");
    err = ferry__device_usable(dev);
    return err ? err : ferry__pool_set_budget(dev->pool, bytes);
}

int ferry_device_trim(ferry_device *dev)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_trim: NULL device");
    err = ferry__device_usable(dev);
    return err ? err : ferry__pool_trim(dev->pool);
}
