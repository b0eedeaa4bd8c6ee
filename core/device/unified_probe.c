/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/unified_probe.h"

#include "core/plugin/host.h"
#include "core/base/log.h"

#include <string.h>

#define PROBE_BYTES 65536u

/* What the probe holds, from first to last. */
struct probe {
    ferry_device *dev;
    unsigned char *host; /* memory shared with the device */
    unsigned char *back; /* where the device's view is fetched to */
    void *handle;        /* of `host` */
    void *block;         /* plain device memory */
};

static ferry_ref at(void *handle)
{
    ferry_ref ref = { NULL, 0 };

    ref.handle = handle;
    return ref;
}

static unsigned char pattern(unsigned i, unsigned char salt)
{
    return (unsigned char)(i * 31u + (i >> 8) + salt);
}

static void write_pattern(unsigned char *p, unsigned char salt)
{
    unsigned i;

    for (i = 0; i < PROBE_BYTES; i++)
        p[i] = pattern(i, salt);
}

static bool has_pattern(const unsigned char *p, unsigned char salt)
{
    unsigned i;

    for (i = 0; i < PROBE_BYTES; i++)
        if (p[i] != pattern(i, salt))
            return false;
    return true;
}

/* Copies on the default queue and waits. */
static int copy(struct probe *p, uint32_t kind, void *to, void *from)
{
    const ferry_plugin_ops *ops = p->dev->ops;
    int err = ops->memcpy(p->dev->dev, NULL, kind, at(to), ferry_ref_const(at(from)), PROBE_BYTES);

    return err ? err : ops->synchronize(p->dev->dev);
}

/* The host writes, the device has to see it: twice, so that a stale cache shows. */
static bool device_sees_host(struct probe *p, unsigned char salt)
{
    const ferry_plugin_ops *ops = p->dev->ops;

    if (ops->map(p->dev->dev, NULL, p->handle, PROBE_BYTES, FERRY_READ | FERRY_WRITE))
        return false;
    write_pattern(p->host, salt);
    if (ops->unmap(p->dev->dev, NULL, p->handle))
        return false;
    return !copy(p, FERRY_MEMCPY_D2D, p->block, p->handle) &&
           !copy(p, FERRY_MEMCPY_D2H, p->back, p->block) && has_pattern(p->back, salt);
}

/* The device writes, the host has to see it. */
static bool host_sees_device(struct probe *p, unsigned char salt)
{
    const ferry_plugin_ops *ops = p->dev->ops;
    bool seen;

    write_pattern(p->back, salt);
    if (copy(p, FERRY_MEMCPY_H2D, p->block, p->back) ||
        copy(p, FERRY_MEMCPY_D2D, p->handle, p->block) ||
        ops->map(p->dev->dev, NULL, p->handle, PROBE_BYTES, FERRY_READ))
        return false;
    seen = has_pattern(p->host, salt);
    return !ops->unmap(p->dev->dev, NULL, p->handle) && seen;
}

static bool acquire(struct probe *p)
{
    const ferry_plugin_ops *ops = p->dev->ops;
    uint32_t flags = 0;
    void *host = NULL, *back = NULL;

    if (ops->host_alloc(p->dev->dev, PROBE_BYTES, 0, &host, &flags))
        return false;
    p->host = host;
    if (ops->host_alloc(p->dev->dev, PROBE_BYTES, 0, &back, &flags))
        return false;
    p->back = back;
    return !ops->alloc(p->dev->dev, NULL, PROBE_BYTES, 0, &p->block, &flags) &&
           !ops->import_host(p->dev->dev, p->host, PROBE_BYTES, 0, &p->handle);
}

static void release(struct probe *p)
{
    const ferry_plugin_ops *ops = p->dev->ops;

    if (p->handle)
        ops->unimport_host(p->dev->dev, p->handle);
    if (p->block)
        ops->free(p->dev->dev, NULL, p->block);
    if (p->back)
        ops->host_free(p->dev->dev, p->back);
    if (p->host)
        ops->host_free(p->dev->dev, p->host);
}

bool ferry__probe_unified(ferry_device *dev)
{
    struct probe p = { 0 };
    bool coherent;

    p.dev = dev;
    coherent = (dev->plugin->given & FERRY__GIVEN_IMPORT) && acquire(&p) &&
               device_sees_host(&p, 1) && host_sees_device(&p, 2) && device_sees_host(&p, 3);
    release(&p);
    if (!coherent) {
        const char *said = ferry__host_take_error();

        ferry__log(
            FERRY_LOG_WARN,
            "%s: says that it shares memory with the host, but the probe disagrees%s%s; it is "
            "used as a discrete device",
            dev->name, said[0] ? ": " : "", said);
    }
    return coherent;
}
