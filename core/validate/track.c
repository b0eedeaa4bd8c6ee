/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/validate/track.h"

#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t ferry__validate_lock = PTHREAD_MUTEX_INITIALIZER;

static struct ferry__tracked_device *devices;

struct ferry__tracked_device *ferry__tracked(void *dev)
{
    struct ferry__tracked_device *d;

    pthread_mutex_lock(&ferry__validate_lock);
    for (d = devices; d && d->dev != dev; d = d->next)
        ;
    pthread_mutex_unlock(&ferry__validate_lock);
    return d;
}

void ferry__broken(struct ferry__tracked_device *d, int rule, const char *entry, const char *fmt,
                   ...)
{
    char text[256];
    va_list args;

    if (d->blind || d->told[rule / 64] >> (rule % 64) & 1)
        return;
    d->told[rule / 64] |= UINT64_C(1) << (rule % 64);
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ferry__log(FERRY_LOG_ERROR, "validate: %s: rule %d: %s: %s", d->plugin, rule, entry, text);
}

void ferry__blind(struct ferry__tracked_device *d)
{
    if (!d->blind)
        ferry__log(FERRY_LOG_WARN, "validate: %s: out of memory: no longer checked", d->plugin);
    d->blind = true;
}

struct ferry__tracked_block *ferry__tracked_block(struct ferry__tracked_device *d,
                                                  const void *handle)
{
    struct ferry__tracked_block *b;

    for (b = d->blocks; b && b->handle != handle; b = b->next)
        ;
    return b;
}

bool ferry__is_block_elsewhere(const struct ferry__tracked_device *d, const void *handle)
{
    struct ferry__tracked_device *other;

    for (other = devices; other; other = other->next)
        if ((other->ops != d->ops || other->index != d->index) &&
            ferry__tracked_block(other, handle))
            return true;
    return false;
}

struct ferry__tracked_queue *ferry__tracked_queue(struct ferry__tracked_device *d,
                                                  const void *handle)
{
    struct ferry__tracked_queue *q;

    for (q = d->queues; q && q->handle != handle; q = q->next)
        ;
    return q;
}

struct ferry__tracked_event *ferry__tracked_event_of_any(const void *handle)
{
    struct ferry__tracked_device *d;
    struct ferry__tracked_event *e;

    for (d = devices; d; d = d->next)
        for (e = d->events; e; e = e->next)
            if (e->handle == handle)
                return e;
    return NULL;
}

void ferry__forget_packings(struct ferry__tracked_device *d, const void *handle)
{
    struct ferry__tracked_packing **at = &d->packings, *gone;

    while (*at) {
        gone = *at;
        if (gone->at.handle == handle) {
            *at = gone->next;
            free(gone);
        } else {
            at = &gone->next;
        }
    }
}

/* ---- objects of tables ---- */

void ferry__add_object(struct ferry__tracked_object **list, struct ferry__tracked_object *o)
{
    pthread_mutex_lock(&ferry__validate_lock);
    o->next = *list;
    *list = o;
    pthread_mutex_unlock(&ferry__validate_lock);
}

bool ferry__is_object(struct ferry__tracked_object *const *list, const void *o)
{
    const struct ferry__tracked_object *at;

    pthread_mutex_lock(&ferry__validate_lock);
    for (at = *list; at && at != o; at = at->next)
        ;
    pthread_mutex_unlock(&ferry__validate_lock);
    return at != NULL;
}

bool ferry__take_object(struct ferry__tracked_object **list, const void *o)
{
    struct ferry__tracked_object **at;
    bool found;

    pthread_mutex_lock(&ferry__validate_lock);
    for (at = list; *at && *at != o; at = &(*at)->next)
        ;
    found = *at != NULL;
    if (found)
        *at = (*at)->next;
    pthread_mutex_unlock(&ferry__validate_lock);
    return found;
}

/* ---- devices ---- */

int ferry__track_device(void *dev, const char *plugin, const ferry_plugin_ops *ops,
                        struct ferry__tracked_device **out)
{
    struct ferry__tracked_device *d = calloc(1, sizeof *d);
    struct ferry__tracked_queue *q = calloc(1, sizeof *q);

    if (!d || !q) {
        free(d);
        free(q);
        return FERRY_ENOMEM;
    }
    d->dev = dev;
    d->plugin = plugin;
    d->ops = ops;
    d->queues = q;
    pthread_mutex_lock(&ferry__validate_lock);
    q->clock = ferry__clock_take();
    d->next = devices;
    devices = d;
    pthread_mutex_unlock(&ferry__validate_lock);
    *out = d;
    return 0;
}

#define FREE_ALL(list)                         \
    while (list) {                             \
        void *next_one = (void *)(list)->next; \
                                               \
        free(list);                            \
        (list) = next_one;                     \
    }

static void tell_what_is_left(struct ferry__tracked_device *d)
{
    if (d->blocks)
        ferry__broken(d, 20, "device_close", "a block of %llu bytes was not freed",
                      (unsigned long long)d->blocks->bytes);
    if (d->hosts)
        ferry__broken(d, 31, "device_close", "pinned memory was not freed");
    if (d->events)
        ferry__broken(d, 41, "device_close", "an event was not destroyed");
    if (d->queues && d->queues->next)
        ferry__broken(d, 41, "device_close", "a queue was not destroyed");
    if (d->prepared)
        ferry__broken(d, 63, "device_close", "an operation was not destroyed");
    if (d->sections)
        ferry__broken(d, 70, "device_close", "a section was not destroyed");
}

void ferry__untrack_device(struct ferry__tracked_device *d)
{
    struct ferry__tracked_device **at;
    struct ferry__tracked_queue *q;

    tell_what_is_left(d);
    pthread_mutex_lock(&ferry__validate_lock);
    for (at = &devices; *at && *at != d; at = &(*at)->next)
        ;
    if (*at)
        *at = d->next;
    for (q = d->queues; q; q = q->next)
        ferry__clock_give_back(q->clock);
    pthread_mutex_unlock(&ferry__validate_lock);
    FREE_ALL(d->blocks);
    FREE_ALL(d->freed);
    FREE_ALL(d->queues);
    FREE_ALL(d->events);
    FREE_ALL(d->hosts);
    FREE_ALL(d->packings);
    FREE_ALL(d->prepared);
    FREE_ALL(d->sections);
    free(d);
}
