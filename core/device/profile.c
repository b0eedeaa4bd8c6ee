/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/profile.h"

#include "core/base/fresh.h"
#include "core/base/status.h"
#include "core/device/section.h"
#include "core/plugin/host.h"

#include <ferry/profile_plugin.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)
/*
 * The age, in nanoseconds, at which a new moment is recorded, since clocks drift by some
 * microseconds a second.
 */
#define MOMENT_AGE NANOSECONDS
#define MOMENTS    8 /* the number of latest moments that are kept */

/*
 * The device's table and clock, created when a queue is first profiled. A moment is a reading of
 * both clocks. A tick between two moments is converted from the earlier one, and a moment's host
 * time is adjusted so that a later tick never has an earlier time. So a tick has the same time
 * whenever it is read, and slices keep their order and nesting.
 */
struct ferry__profile {
    const ferry_profile_table *table;
    pthread_mutex_t lock; /* guards the moments */
    unsigned n;
    ferry_profile_clock moments[MOMENTS]; /* the oldest first */
};

struct ferry_span {
    ferry_queue *queue; /* retained */
    void *section;      /* the plugin's handle */
    bool ended;
    int failed; /* the result of end */
};

/* ---- the table ---- */

static bool is_whole(const ferry_profile_table *t)
{
    return t->struct_size >= offsetof(ferry_profile_table, destroy) + sizeof t->destroy &&
           t->clock && t->start && t->stop && t->begin && t->end && t->read && t->destroy;
}

static int ask_clock(ferry_device *dev, const ferry_profile_table *table, ferry_profile_clock *out)
{
    ferry_profile_clock clock = { .struct_size = sizeof clock };
    int err = table->clock(dev->dev, &clock);

    if (err)
        return ferry__device_fail(dev, "clock", UINT64_MAX, err);
    if (!clock.frequency || !clock.resolution)
        return ferry__error(FERRY_EPLUGIN, "%s: clock: a frequency or resolution of 0", dev->name);
    *out = clock;
    return 0;
}

/* The error of a device whose extension entry returned the code `err`. */
static int no_table(ferry_device *dev, int err)
{
    if (err != FERRY_EUNSUPPORTED)
        return ferry__device_fail(dev, "extension", UINT64_MAX, err);
    (void)ferry__host_take_error(); /* the plugin's message says only that the name is unknown */
    return ferry__error(err,
                        "%s: plugin %s does not measure time on the device's clock: it has no "
                        "table \"" FERRY_PROFILE_EXTENSION "\"",
                        dev->name, dev->plugin->name);
}

static int make(ferry_device *dev, const ferry_profile_table *table, struct ferry__profile **out)
{
    struct ferry__profile *p = ferry__fresh(sizeof *p);
    int err;

    if (!p)
        return ferry__error(FERRY_ENOMEM, "%s: no memory to profile it", dev->name);
    p->table = table;
    err = ask_clock(dev, table, &p->moments[0]);
    if (err) {
        free(p);
        return err;
    }
    p->n = 1;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return 0;
}

/*
 * The profile of an open device, created on first use. If two threads create one at the same time,
 * one of them is kept.
 */
static int profile_of(ferry_device *dev, struct ferry__profile **out)
{
    struct ferry__profile *none = NULL, *p = atomic_load(&dev->profile);
    const void *table = NULL;
    int err;

    *out = p;
    if (p)
        return 0;
    err = dev->ops->extension(dev->dev, FERRY_PROFILE_EXTENSION, &table);
    if (err)
        return no_table(dev, err);
    if (!is_whole(table))
        return ferry__error(FERRY_EPLUGIN, "%s: its table \"%s\" lacks an entry", dev->name,
                            FERRY_PROFILE_EXTENSION);
    err = make(dev, table, out);
    if (err)
        return err;
    if (!atomic_compare_exchange_strong(&dev->profile, &none, *out)) {
        pthread_mutex_destroy(&(*out)->lock);
        free(*out);
        *out = none;
    }
    return 0;
}

void ferry__profile_forget(ferry_device *dev)
{
    struct ferry__profile *p = atomic_exchange(&dev->profile, NULL);

    if (!p)
        return;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- profiled queues ---- */

/* (the queue is held) */
static int change(ferry_queue *q, const struct ferry__profile *p, bool on)
{
    ferry_device *dev = q->device;
    int err = 0;

    if (on && !q->profiled)
        err = p->table->start(dev->dev, q->handle);
    else if (!on && q->profiled == 1)
        err = p->table->stop(dev->dev, q->handle);
    if (err)
        return ferry__device_fail(dev, on ? "start" : "stop", UINT64_MAX, err);
    q->profiled = on ? q->profiled + 1 : q->profiled - 1;
    return 0;
}

int ferry_queue_profile(ferry_queue *q, bool on)
{
    struct ferry__profile *p = NULL;
    int err;

    if (!q)
        return ferry__error(FERRY_EINVAL, "ferry_queue_profile: NULL queue");
    err = ferry__section_refuse("ferry_queue_profile");
    if (!err)
        err = ferry__device_usable(q->device);
    if (!err)
        err = profile_of(q->device, &p);
    if (err)
        return err;
    pthread_mutex_lock(&q->lock);
    if (!on && !q->profiled)
        err = ferry__error(FERRY_EINVAL, "%s: ferry_queue_profile: the queue is not profiled",
                           q->device->name);
    else
        err = change(q, p, on);
    pthread_mutex_unlock(&q->lock);
    return err;
}

/* ---- sections ---- */

void *ferry__profile_begin(ferry_queue *q)
{
    const struct ferry__profile *p = atomic_load(&q->device->profile);
    void *section = NULL;

    return p && !p->table->begin(q->device->dev, q->handle, &section) ? section : NULL;
}

void ferry__profile_end(ferry_queue *q, void *section)
{
    (void)atomic_load(&q->device->profile)->table->end(q->device->dev, q->handle, section);
}

void ferry__profile_destroy(ferry_device *dev, void *section)
{
    if (!ferry__device_forked(dev))
        atomic_load(&dev->profile)->table->destroy(dev->dev, section);
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

/* Converts `ticks` to nanoseconds; divides first, since the product may overflow. */
static uint64_t nanoseconds(uint64_t ticks, uint64_t frequency)
{
    return ticks / frequency * NANOSECONDS +
           (uint64_t)((double)(ticks % frequency) * 1e9 / (double)frequency + 0.5);
}

static uint64_t on_host(const ferry_profile_clock *c, uint64_t ticks)
{
    if (ticks >= c->ticks)
        return c->host_ns + nanoseconds(ticks - c->ticks, c->frequency);
    return c->host_ns - nanoseconds(c->ticks - ticks, c->frequency);
}

/* Records a moment if the latest one is old. On failure the moments stay unchanged. (locked) */
static void add_moment(ferry_device *dev, struct ferry__profile *p)
{
    ferry_profile_clock fresh = { .struct_size = sizeof fresh };
    const ferry_profile_clock *latest = &p->moments[p->n - 1];
    uint64_t least;

    if (now() <= latest->host_ns + MOMENT_AGE || p->table->clock(dev->dev, &fresh) ||
        fresh.frequency != latest->frequency || fresh.ticks <= latest->ticks)
        return;
    least = on_host(latest, fresh.ticks);
    if (fresh.host_ns < least) {
        fresh.uncertainty += least - fresh.host_ns;
        fresh.host_ns = least;
    }
    if (p->n == MOMENTS)
        memmove(p->moments, p->moments + 1, --p->n * sizeof *p->moments);
    p->moments[p->n++] = fresh;
}

/* The latest moment before `ticks`, or the oldest. (locked) */
static const ferry_profile_clock *moment_of(const struct ferry__profile *p, uint64_t ticks)
{
    unsigned i = p->n - 1;

    while (i && p->moments[i].ticks > ticks)
        i--;
    return &p->moments[i];
}

/* Converts the times of a section. */
static void convert(ferry_device *dev, struct ferry__profile *p, const ferry_profile_times *times,
                    ferry_span_times *out)
{
    const ferry_profile_clock *clock;

    pthread_mutex_lock(&p->lock);
    add_moment(dev, p);
    out->begin_ns = on_host(moment_of(p, times->begin), times->begin);
    clock = moment_of(p, times->end);
    out->end_ns = on_host(clock, times->end);
    out->duration_ns = nanoseconds(times->end - times->begin, clock->frequency);
    out->uncertainty_ns = clock->uncertainty + nanoseconds(clock->resolution, clock->frequency);
    pthread_mutex_unlock(&p->lock);
}

static int read_times(ferry_device *dev, void *section, ferry_span_times *out)
{
    struct ferry__profile *p = atomic_load(&dev->profile);
    ferry_profile_times times = { .struct_size = sizeof times };
    int answer = p->table->read(dev->dev, section, &times);

    if (answer <= 0)
        return answer;
    if (times.flags & FERRY_PROFILE_EMPTY) {
        out->empty = true;
        return 1;
    }
    convert(dev, p, &times, out);
    return 1;
}

int ferry__profile_read(ferry_device *dev, void *section, ferry_span_times *out)
{
    int answer;

    memset(out, 0, sizeof *out);
    if (ferry__device_forked(dev)) {
        out->empty = true;
        return 1;
    }
    answer = read_times(dev, section, out);
    if (answer < 0)
        out->empty = true;
    return answer ? 1 : 0;
}

/* ---- spans ---- */

int ferry_span_begin(ferry_queue *q, ferry_span **out)
{
    ferry_span *s;
    int err;

    if (!q || !out)
        return ferry__error(FERRY_EINVAL, "ferry_span_begin: NULL argument");
    err = ferry__device_usable(q->device);
    if (err)
        return err;
    s = ferry__fresh(sizeof *s);
    if (!s)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for a span", q->device->name);
    pthread_mutex_lock(&q->lock);
    if (!q->profiled) {
        err = ferry__error(FERRY_EINVAL, "%s: ferry_span_begin: the queue is not profiled",
                           q->device->name);
    } else {
        err =
            atomic_load(&q->device->profile)->table->begin(q->device->dev, q->handle, &s->section);
        err = err ? ferry__device_fail(q->device, "begin", UINT64_MAX, err) : 0;
    }
    pthread_mutex_unlock(&q->lock);
    if (err) {
        free(s);
        return err;
    }
    ferry__device_retain(q->device);
    s->queue = ferry__queue_retain(q);
    *out = s;
    return 0;
}

int ferry_span_end(ferry_span *s)
{
    ferry_device *dev;

    if (!s || s->ended)
        return ferry__error(FERRY_EINVAL, "ferry_span_end: %s", s ? "it has ended" : "NULL span");
    dev = s->queue->device;
    if (ferry__device_forked(dev))
        return ferry__device_usable(dev);
    pthread_mutex_lock(&s->queue->lock);
    s->failed = atomic_load(&dev->profile)->table->end(dev->dev, s->queue->handle, s->section);
    pthread_mutex_unlock(&s->queue->lock);
    s->ended = true;
    return s->failed ? ferry__device_fail(dev, "end", UINT64_MAX, s->failed) : 0;
}

int ferry_span_read(ferry_span *s, ferry_span_times *out)
{
    ferry_span_times times = { .struct_size = 0 };
    ferry_device *dev;
    size_t size;
    int answer;

    if (!s || !out || out->struct_size < sizeof(size_t))
        return ferry__error(FERRY_EINVAL, "ferry_span_read: %s",
                            s && out ? "struct_size is not set" : "NULL argument");
    dev = s->queue->device;
    if (!s->ended)
        return ferry__error(FERRY_EINVAL, "%s: ferry_span_read: the span has not ended", dev->name);
    if (ferry__device_forked(dev))
        return ferry__device_usable(dev);
    if (s->failed)
        return ferry__error(s->failed, "%s: ferry_span_end failed", dev->name);
    answer = read_times(dev, s->section, &times);
    if (answer < 0)
        return ferry__device_fail(dev, "read of times", UINT64_MAX, answer);
    if (!answer)
        return 0;
    size = out->struct_size < sizeof times ? out->struct_size : sizeof times;
    times.struct_size = out->struct_size;
    memcpy(out, &times, size);
    return 1;
}

void ferry_span_destroy(ferry_span *s)
{
    ferry_device *dev;

    if (!s)
        return;
    dev = s->queue->device;
    if (!s->ended)
        (void)ferry_span_end(s);
    ferry__profile_destroy(dev, s->section);
    ferry__queue_release(s->queue);
    ferry__device_release(dev);
    free(s);
}
