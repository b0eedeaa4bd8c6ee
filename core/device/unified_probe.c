/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/unified_probe.h"

#include "core/plugin/host.h"
#include "core/base/log.h"
#include "core/device/trace.h"

#include <stdio.h>
#include <string.h>

/* The size of the shared block: a multiple of the device's unit, at least one unit. */
#define PROBE_BYTES UINT64_C(65536)

/* The resources of the probe, in the order of their creation. */
struct probe {
    ferry_device *dev;
    size_t bytes;
    unsigned char *host; /* memory shared with the device */
    unsigned char *back; /* where the device's copy is fetched to */
    void *handle;        /* the device's handle of `host` */
    void *block;         /* plain device memory */
    const char *step;    /* the latest call, for messages; NULL: none so far */
    const char *unseen;  /* the direction in which writes are not visible, or NULL */
    char slow[160];      /* the operation that is too slow; "": none */
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

/* Whether the bytes at `at` have the pattern; else records the direction `who` as unseen. */
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

/* Checks that the device sees writes of the host: twice, to detect a stale cache. */
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

/* Checks that the host sees writes of the device. */
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

/* ---- the cost of sharing ---- */

/*
 * Some drivers copy at each map and unmap. Sharing is then slower than the copies of ferry, which
 * copies only when an access requires it. Measurements of two sizes separate the time per byte from
 * the fixed time of a call.
 */
#define MEASURED_BYTES (UINT64_C(4) << 20) /* larger than most caches */
#define ALIKE          0.875 /* changing page protection is cheaper than a copy, but takes time */
/* The number of measurements, of which the shortest counts, since other programs may delay one. */
#define TRIES_LEAST 4
#define TRIES_MOST  12

static int time_map(struct probe *p, double *out)
{
    double start = ferry__trace_clock();
    int err = map(p, FERRY_READ | FERRY_WRITE);

    if (!err)
        err = unmap(p);
    if (!err)
        err = p->dev->ops->synchronize(p->dev->dev);
    *out = ferry__trace_clock() - start;
    return err;
}

static int time_copies(struct probe *p, double *out)
{
    double start = ferry__trace_clock();
    int err = copy(p, FERRY_MEMCPY_H2D, p->block, p->back);

    if (!err)
        err = copy(p, FERRY_MEMCPY_D2H, p->back, p->block);
    *out = ferry__trace_clock() - start;
    return err;
}

/* The shortest time of each operation, in microseconds. */
struct cost {
    double map, copies;
};

static int measure(struct probe *p, struct cost *least)
{
    double map_time, copy_time;
    int err = time_map(p, &map_time);

    if (!err)
        err = time_copies(p, &copy_time);
    if (err)
        return err;
    least->map = map_time < least->map ? map_time : least->map;
    least->copies = copy_time < least->copies ? copy_time : least->copies;
    return 0;
}

/*
 * Whether map and unmap take about as long as copies. False if the times cannot be measured.
 */
static bool is_slow(struct probe *few, struct probe *many)
{
    struct cost a = { 1e9, 1e9 }, b = { 1e9, 1e9 };

    for (int i = 0; i < TRIES_MOST; i++) {
        if (measure(few, &a) || measure(many, &b))
            return false;
        if (i + 1 >= TRIES_LEAST && b.map - a.map < (b.copies - a.copies) * ALIKE)
            return false;
    }
    snprintf(few->slow, sizeof few->slow,
             "map and unmap take %.0f us more for %zu bytes more, copies there and back %.0f us",
             b.map - a.map, many->bytes - few->bytes, b.copies - a.copies);
    return true;
}

static void say_why(const struct probe *p, int err)
{
    const char *said = ferry__host_take_error();
    char why[1200];

    if (p->slow[0])
        snprintf(why, sizeof why, "%s", p->slow);
    else if (p->unseen)
        snprintf(why, sizeof why, "%s", p->unseen);
    else
        snprintf(why, sizeof why, "%s of %zu bytes: %s", p->step, p->bytes,
                 said[0] ? said : ferry_strerror(err));
    ferry__log(FERRY_LOG_WARN,
               "%s: says that it shares memory with the host, but the probe disagrees: %s; it is "
               "used as a discrete device",
               p->dev->name, why);
}

/* Allocates `wanted` bytes, rounded up to the device's unit. */
static void prepare(struct probe *p, ferry_device *dev, uint64_t wanted)
{
    uint64_t unit = dev->host_alignment ? dev->host_alignment : 1;

    *p = (struct probe){ .dev = dev, .step = "import_host" };
    p->bytes = (size_t)(unit > wanted ? unit : wanted - wanted % unit);
}

static bool is_worth_it(struct probe *p)
{
    struct probe many;
    bool slow;

    if (!ferry__device_is(p->dev, FERRY_DEVICE_MAP_MAY_COPY) ||
        !(p->dev->plugin->given & FERRY__GIVEN_MAP))
        return true;
    prepare(&many, p->dev, MEASURED_BYTES);
    slow = many.bytes > p->bytes && many.bytes <= p->dev->max_block && !acquire(&many) &&
           is_slow(p, &many);
    release(&many);
    return !slow;
}

int ferry__unified_probe(ferry_device *dev, bool *out_coherent)
{
    struct probe p;
    int err;

    prepare(&p, dev, PROBE_BYTES);
    err = dev->plugin->given & FERRY__GIVEN_IMPORT ? try_both_ways(&p) : FERRY_EUNSUPPORTED;
    if (!err && !is_worth_it(&p))
        err = FERRY_EUNSUPPORTED;
    if (err == FERRY_ELOST)
        err = ferry__device_fail(dev, p.step, p.bytes, err);
    else if (err)
        say_why(&p, err);
    release(&p);
    (void)ferry__host_take_error(); /* ignores errors of the releases */
    *out_coherent = !err;
    return err == FERRY_ELOST ? err : 0;
}
