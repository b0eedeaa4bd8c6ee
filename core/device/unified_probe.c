/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/unified_probe.h"

#include "core/plugin/host.h"
#include "core/base/log.h"

#include <stdio.h>
#include <string.h>

/* Bytes that the device can take: one unit of what it wants, at least. */
#define PROBE_BYTES UINT64_C(65536)

/* What the probe holds, from first to last. */
struct probe {
    ferry_device *dev;
    size_t bytes;
    unsigned char *host; /* memory shared with the device */
    unsigned char *back; /* where the device's view is fetched to */
    void *handle;        /* of `host` */
    void *block;         /* plain device memory */
    const char *step;    /* the call that was made last; NULL: of no interest */
    const char *unseen;  /* who does not see what; NULL: nobody */
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

static void write_pattern(const struct probe *p, unsigned char *to, unsigned char salt)
{
    for (size_t i = 0; i < p->bytes; i++)
        to[i] = pattern((unsigned)i, salt);
}

/* Whether it is there; else `who` does not see it. */
static int check_pattern(struct probe *p, const unsigned char *at, unsigned char salt,
                         const char *who)
{
    for (size_t i = 0; i < p->bytes && !p->unseen; i++)
        if (at[i] != pattern((unsigned)i, salt))
            p->unseen = who;
    return p->unseen ? FERRY_EDEVICE : 0;
}

/* Copies on the default queue and waits. */
static int copy(struct probe *p, uint32_t kind, void *to, void *from)
{
    const ferry_plugin_ops *ops = p->dev->ops;
    int err;

    p->step = "memcpy";
    err = ops->memcpy(p->dev->dev, NULL, kind, at(to), ferry_ref_const(at(from)), p->bytes);
    return err ? err : ops->synchronize(p->dev->dev);
}

static int map(struct probe *p, uint32_t access)
{
    p->step = "map";
    return p->dev->ops->map(p->dev->dev, NULL, p->handle, p->bytes, access);
}

static int unmap(struct probe *p)
{
    p->step = "unmap";
    return p->dev->ops->unmap(p->dev->dev, NULL, p->handle);
}

/* The host writes, the device has to see it: tried twice, so that a stale cache shows. */
static int device_sees_host(struct probe *p, unsigned char salt)
{
    int err = map(p, FERRY_READ | FERRY_WRITE);

    if (err)
        return err;
    write_pattern(p, p->host, salt);
    err = unmap(p);
    if (!err)
        err = copy(p, FERRY_MEMCPY_D2D, p->block, p->handle);
    if (!err)
        err = copy(p, FERRY_MEMCPY_D2H, p->back, p->block);
    if (!err)
        err = check_pattern(p, p->back, salt, "the device does not see what the host writes");
    return err;
}

/* The device writes, the host has to see it. */
static int host_sees_device(struct probe *p, unsigned char salt)
{
    int err, seen;

    write_pattern(p, p->back, salt);
    err = copy(p, FERRY_MEMCPY_H2D, p->block, p->back);
    if (!err)
        err = copy(p, FERRY_MEMCPY_D2D, p->handle, p->block);
    if (!err)
        err = map(p, FERRY_READ);
    if (err)
        return err;
    seen = check_pattern(p, p->host, salt, "the host does not see what the device writes");
    err = unmap(p);
    return err ? err : seen;
}

static int acquire(struct probe *p)
{
    const ferry_plugin_ops *ops = p->dev->ops;
    uint32_t flags = 0;
    void *host = NULL, *back = NULL;
    int err;

    p->step = "host_alloc";
    err = ferry__device_host_alloc(p->dev, p->bytes, 0, &host, &flags);
    if (err)
        return err;
    p->host = host;
    err = ferry__device_host_alloc(p->dev, p->bytes, 0, &back, &flags);
    if (err)
        return err;
    p->back = back;
    p->step = "alloc";
    err = ops->alloc(p->dev->dev, NULL, p->bytes, 0, &p->block, &flags);
    if (err)
        return err;
    p->step = "import_host";
    return ops->import_host(p->dev->dev, p->host, p->bytes, 0, &p->handle);
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

static int try_both_ways(struct probe *p)
{
    int err = acquire(p);

    if (!err)
        err = device_sees_host(p, 1);
    if (!err)
        err = host_sees_device(p, 2);
    if (!err)
        err = device_sees_host(p, 3);
    return err;
}

static void say_why(const struct probe *p, int err)
{
    const char *said = ferry__host_take_error();
    char why[1200];

    if (p->unseen)
        snprintf(why, sizeof why, "%s", p->unseen);
    else
        snprintf(why, sizeof why, "%s of %zu bytes: %s", p->step, p->bytes,
                 said[0] ? said : ferry_strerror(err));
    ferry__log(FERRY_LOG_WARN,
               "%s: says that it shares memory with the host, but the probe disagrees: %s; it is "
               "used as a discrete device",
               p->dev->name, why);
}

int ferry__unified_probe(ferry_device *dev, bool *out_coherent)
{
    uint64_t unit = dev->host_alignment ? dev->host_alignment : 1;
    struct probe p = { .dev = dev, .step = "import_host" };
    int err;

    p.bytes = (size_t)(unit > PROBE_BYTES ? unit : PROBE_BYTES - PROBE_BYTES % unit);
    err = dev->plugin->given & FERRY__GIVEN_IMPORT ? try_both_ways(&p) : FERRY_EUNSUPPORTED;
    if (err == FERRY_ELOST)
        err = ferry__device_fail(dev, p.step, p.bytes, err);
    else if (err)
        say_why(&p, err);
    release(&p);
    (void)ferry__host_take_error(); /* of what was released: of no interest */
    *out_coherent = !err;
    return err == FERRY_ELOST ? err : 0;
}
