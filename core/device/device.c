/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/device.h"

#include "core/plugin/host.h"
#include "core/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

atomic_uint ferry__forks;

int ferry__device_fail(ferry_device *dev, const char *operation, uint64_t bytes, int code)
{
    char said[512];

    code = ferry__host_take_failure(code, said, sizeof said);
    if (code == FERRY_ELOST)
        atomic_store(&dev->state, FERRY__DEVICE_LOST);
    if (bytes == UINT64_MAX)
        return ferry__error(code, "%s: %s: %s", dev->name, operation, said);
    return ferry__error(code, "%s: %s of %" PRIu64 " bytes: %s", dev->name, operation, bytes, said);
}

bool ferry__device_retain_alive(ferry_device *dev)
{
    unsigned n = atomic_load_explicit(&dev->refs, memory_order_relaxed);

    while (n && !atomic_compare_exchange_weak(&dev->refs, &n, n + 1))
        ;
    return n != 0;
}

int ferry__device_open(ferry_device *dev)
{
    if (atomic_load_explicit(&dev->state, memory_order_acquire) != FERRY__DEVICE_CLOSED)
        return 0;
    return dev->open_up(dev);
}

int ferry__device_make_ready(ferry_device *dev)
{
    if (ferry__device_forked(dev))
        return atomic_load(&dev->ended)
                   ? ferry__error(FERRY_ELOST, "%s: the process is ending", dev->name)
                   : ferry__error(FERRY_EFORKED, "%s: %s", dev->name,
                                  ferry_strerror(FERRY_EFORKED));
    if (atomic_load_explicit(&dev->state, memory_order_acquire) == FERRY__DEVICE_LOST)
        return ferry__error(FERRY_ELOST, "%s: the device is lost", dev->name);
    return ferry__device_open(dev);
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
    *out_ptr = aligned_alloc((size_t)a, (size_t)rounded); /* the default of host_free frees this
                                                           * block */
    *out_flags = 0;
    return *out_ptr ? 0 : FERRY_ENOMEM;
}

/* ---- the public half ---- */

const char *ferry_device_name(const ferry_device *dev)
{
    return dev ? dev->name : "";
}

const ferry_device_properties *ferry_device_get_properties(const ferry_device *dev)
{
    return dev ? atomic_load_explicit(&((ferry_device *)dev)->shown, memory_order_acquire) : NULL;
}

int ferry_device_memory_available(ferry_device *dev, uint64_t *out)
{
    uint64_t available, total;
    int err;

    if (!dev || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_memory_available: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->memory_info(dev->dev, &available, &total);
    if (err)
        return ferry__device_fail(dev, "memory_info", UINT64_MAX, err);
    *out = available;
    return 0;
}

int ferry_device_get_stats(const ferry_device *dev, ferry_device_stats *out)
{
    ferry_device_stats s;
    const struct ferry__counters *c;

    if (!dev || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_get_stats: NULL argument");
    if (out->struct_size < sizeof out->struct_size)
        return ferry__error(FERRY_EINVAL, "ferry_device_get_stats: struct_size is not set");
    s.struct_size = out->struct_size;
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
    memcpy(out, &s, s.struct_size < sizeof s ? s.struct_size : sizeof s);
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
    if (err == FERRY_EUNSUPPORTED) {
        (void)ferry__host_take_error(); /* the message says only that the name is unknown */
        return ferry__error(err, "%s: its plugin has no extension \"%s\"", dev->name, name);
    }
    if (err)
        return ferry__device_fail(dev, "extension", UINT64_MAX, err);
    if (!table || *(const uint32_t *)table < sizeof(uint32_t))
        return ferry__error(FERRY_EPLUGIN, "%s: its extension \"%s\" is not a table", dev->name,
                            name);
    *out_table = table;
    *out_dev = dev->dev;
    return 0;
}

int ferry_device_call(ferry_device *dev, const char *what, ferry_device_call_fn work, void *arg)
{
    int err;

    if (!dev || !what || !work)
        return ferry__error(FERRY_EINVAL, "ferry_device_call: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = work(dev->dev, arg);
    return err ? ferry__device_fail(dev, what, UINT64_MAX, err) : 0;
}

int ferry__device_ask(ferry_device *dev, const void *handle)
{
    int said = dev->ops->owns(dev->dev, handle);

    if (said == FERRY_EUNSUPPORTED)
        (void)ferry__host_take_error();
    return said == 0 || said == 1 || said == FERRY_EUNSUPPORTED
               ? said
               : ferry__device_fail(dev, "owns", UINT64_MAX, said);
}

int ferry_device_owns(ferry_device *dev, const void *handle)
{
    int said;

    if (!dev || !handle)
        return ferry__error(FERRY_EINVAL, "ferry_device_owns: NULL argument");
    said = ferry__device_usable(dev);
    if (!said)
        said = ferry__device_ask(dev, handle);
    if (said == FERRY_EUNSUPPORTED)
        ferry__error(said, "%s: its plugin cannot tell which memory it owns", dev->name);
    return said;
}

bool ferry_device_is_strict(const ferry_device *dev)
{
    return dev && dev->strict;
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
        ferry__error(FERRY_EUNSUPPORTED, "%s: its handles are not pointers", dev->name);
        return NULL;
    }
    return (char *)ref.handle + ref.offset;
}

const void *ferry_device_const_pointer(ferry_device *dev, ferry_cref ref)
{
    ferry_ref place = { (void *)(uintptr_t)ref.handle, ref.offset };

    return ferry_device_pointer(dev, place);
}
