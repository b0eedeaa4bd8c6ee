/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A correct plugin, as the base of faulty ones. A file that includes this defines GOOD_NAME and
 *
 *     static void spoil(ferry_plugin_ops *ops);
 *
 * which may replace entries. Its device is an arena in host memory, in which adjacent blocks are at
 * least 64 bytes apart, so that a write past one is found in another. With GOOD_ASYNC a slow thread
 * runs copies, memset and axpy later, in order. With GOOD_QUEUES there are further queues, which
 * only keep their work apart.
 */
#define _GNU_SOURCE
#include <ferry/plugin.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

FERRY_PLUGIN(.name = GOOD_NAME, .version = "1.0", .vendor = "ferry's tests");

#ifndef GOOD_ARENA
#define GOOD_ARENA (UINT64_C(64) << 20)
#define GOOD_GRAIN UINT64_C(64)
#endif
#define GOOD_CELLS (GOOD_ARENA / GOOD_GRAIN)

static const ferry_host *good_host;
static pthread_mutex_t good_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *good_arena;
static uint32_t good_length[GOOD_CELLS]; /* the number of cells of the block that begins here; 0: no
                                          * block */
static uint64_t good_bytes[GOOD_CELLS];  /* the requested size */
static ferry_plugin_counters good_account;

static unsigned char *good_at(const void *handle, uint64_t offset)
{
    return (unsigned char *)(uintptr_t)handle + offset;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* First fit: the first sufficient run of free cells. */
static bool good_find(uint64_t cells, uint64_t *out)
{
    uint64_t at = 0, free_cells = 0;

    while (at + free_cells < GOOD_CELLS && free_cells < cells) {
        uint32_t taken = good_length[at + free_cells];

        if (taken) {
            at += free_cells + taken;
            free_cells = 0;
        } else {
            free_cells++;
        }
    }
    *out = at;
    return free_cells == cells;
}

static int good_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                      uint32_t *out_flags)
{
    uint64_t cells, at;
    bool found;

    (void)dev, (void)queue, (void)flags, (void)out_flags;
    if (bytes > GOOD_ARENA)
        return good_host->error(FERRY_ENOMEM, "%llu bytes; the device has %llu",
                                (unsigned long long)bytes, (unsigned long long)GOOD_ARENA);
    cells = (bytes + GOOD_GRAIN - 1) / GOOD_GRAIN;
    pthread_mutex_lock(&good_lock);
    found = good_find(cells, &at);
    if (found) {
        good_length[at] = (uint32_t)cells;
        good_bytes[at] = bytes;
        good_account.live_blocks++;
        good_account.live_bytes += bytes;
    }
    pthread_mutex_unlock(&good_lock);
    if (!found)
        return good_host->error(FERRY_ENOMEM, "no room for %llu bytes", (unsigned long long)bytes);
    *out_handle = good_arena + at * GOOD_GRAIN;
    return 0;
}

static int good_free(void *dev, void *queue, void *handle)
{
    uint64_t at = (uint64_t)((unsigned char *)handle - good_arena) / GOOD_GRAIN;

    (void)dev, (void)queue;
    pthread_mutex_lock(&good_lock);
    good_length[at] = 0;
    good_account.live_blocks--;
    good_account.live_bytes -= good_bytes[at];
    pthread_mutex_unlock(&good_lock);
    return 0;
}

/* ---- work ----------------------------------------------------------------------------------- */

struct good_work {
    struct good_work *next;
    void *queue;
    void (*run)(const struct good_work *w);
    unsigned char *dst;
    const unsigned char *src;
    uint64_t bytes;
    int64_t n;
    double alpha;
    int byte;
    bool done; /* of an event */
};

static void good_run_copy(const struct good_work *w)
{
    memmove(w->dst, w->src, w->bytes);
}

static void good_run_set(const struct good_work *w)
{
    memset(w->dst, w->byte, w->bytes);
}

static void good_run_axpy(const struct good_work *w)
{
    const float *x = (const float *)(const void *)w->src;
    float *y = (float *)(void *)w->dst;

    for (int64_t i = 0; i < w->n; i++)
        y[i] += (float)w->alpha * x[i];
}

#ifdef GOOD_ASYNC

static pthread_cond_t good_changed = PTHREAD_COND_INITIALIZER;
static struct good_work *good_first, **good_last = &good_first;
static struct good_work *good_current;
static bool good_started, good_stop;
static pthread_t good_thread;

static void *good_worker(void *arg)
{
    const struct timespec pause = { 0, 300000 };

    (void)arg;
    pthread_mutex_lock(&good_lock);
    for (;;) {
        struct good_work *w = good_first;

        if (!w && good_stop)
            break;
        if (!w) {
            pthread_cond_wait(&good_changed, &good_lock);
            continue;
        }
        good_first = w->next;
        if (!good_first)
            good_last = &good_first;
        good_current = w;
        pthread_mutex_unlock(&good_lock);
        if (w->run && w->bytes > 100000)
            nanosleep(&pause, NULL);
        if (w->run)
            w->run(w);
        pthread_mutex_lock(&good_lock);
        good_current = NULL;
        if (w->run)
            free(w);
        else
            w->done = true;
        pthread_cond_broadcast(&good_changed);
    }
    pthread_mutex_unlock(&good_lock);
    return NULL;
}

static struct good_work *good_enqueue(const struct good_work *what)
{
    struct good_work *w = malloc(sizeof(*w));

    if (!w)
        return NULL;
    *w = *what;
    w->next = NULL;
    pthread_mutex_lock(&good_lock);
    if (!good_started) {
        good_started = pthread_create(&good_thread, NULL, good_worker, NULL) == 0;
        good_stop = false;
    }
    *good_last = w;
    good_last = &w->next;
    pthread_cond_broadcast(&good_changed);
    pthread_mutex_unlock(&good_lock);
    return w;
}

static int good_do(const struct good_work *w)
{
    return good_enqueue(w) ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

static int good_synchronize(void *dev)
{
    (void)dev;
    pthread_mutex_lock(&good_lock);
    while (good_first || good_current)
        pthread_cond_wait(&good_changed, &good_lock);
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static int good_event_record(void *dev, void *queue, void **out_event)
{
    const struct good_work mark = { .queue = queue };

    (void)dev;
    *out_event = good_enqueue(&mark);
    if (!*out_event)
        return good_host->error(FERRY_ENOMEM, "malloc failed");
    pthread_mutex_lock(&good_lock);
    good_account.live_events++;
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static int good_event_query(void *dev, void *event)
{
    bool done;

    (void)dev;
    pthread_mutex_lock(&good_lock);
    done = ((struct good_work *)event)->done;
    pthread_mutex_unlock(&good_lock);
    return done;
}

static int good_event_synchronize(void *dev, void *event)
{
    (void)dev;
    pthread_mutex_lock(&good_lock);
    while (!((struct good_work *)event)->done)
        pthread_cond_wait(&good_changed, &good_lock);
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static int good_event_destroy(void *dev, void *event)
{
    good_event_synchronize(dev, event);
    pthread_mutex_lock(&good_lock);
    good_account.live_events--;
    pthread_mutex_unlock(&good_lock);
    free(event);
    return 0;
}

/* Does nothing: there is only one list of work, which runs in order. */
static int good_queue_wait(void *dev, void *queue, void *event)
{
    (void)dev, (void)queue, (void)event;
    return 0;
}

#else

static int good_do(const struct good_work *w)
{
    w->run(w);
    return 0;
}

static int good_synchronize(void *dev)
{
    (void)dev;
    return 0;
}

#endif

static int good_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                       uint64_t bytes)
{
    const struct good_work w = { .queue = queue,
                                 .run = good_run_copy,
                                 .dst = good_at(dst.handle, dst.offset),
                                 .src = good_at(src.handle, src.offset),
                                 .bytes = bytes };
    uint64_t *counts = &good_account.copies_h2d, *sums = &good_account.bytes_h2d;

    (void)dev;
    pthread_mutex_lock(&good_lock);
    counts[kind - 1]++;
    sums[kind - 1] += bytes;
    pthread_mutex_unlock(&good_lock);
    return good_do(&w);
}

static int good_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    const struct good_work w = { .queue = queue,
                                 .run = good_run_set,
                                 .dst = good_at(dst.handle, dst.offset),
                                 .bytes = bytes,
                                 .byte = (int)(byte & 0xff) };

    (void)dev;
    return good_do(&w);
}

static int good_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                     ferry_ref y)
{
    const struct good_work w = { .queue = queue,
                                 .run = good_run_axpy,
                                 .dst = good_at(y.handle, y.offset),
                                 .src = good_at(x.handle, x.offset),
                                 .bytes = (uint64_t)n * 4,
                                 .n = n,
                                 .alpha = alpha };

    (void)dev;
    return dtype == FERRY_F32 ? good_do(&w) : FERRY_EUNSUPPORTED;
}

/* ---- the device ----------------------------------------------------------------------------- */

static int good_device_count(void *plugin, uint32_t *out)
{
    (void)plugin;
    *out = 1;
    return 0;
}

static int good_device_open(void *plugin, uint32_t index, void **out_dev)
{
    (void)plugin;
    if (index)
        return good_host->error(FERRY_ENODEV, "device %u does not exist, there is one", index + 1);
    good_arena = aligned_alloc(4096, GOOD_ARENA);
    if (!good_arena)
        return good_host->error(FERRY_ENOMEM, "aligned_alloc failed");
    *out_dev = good_arena;
    return 0;
}

static void good_device_close(void *dev)
{
#ifdef GOOD_ASYNC
    if (good_started) {
        pthread_mutex_lock(&good_lock);
        good_stop = true;
        pthread_cond_broadcast(&good_changed);
        pthread_mutex_unlock(&good_lock);
        pthread_join(good_thread, NULL);
        good_started = false;
    }
#endif
    free(dev);
}

#ifdef GOOD_QUEUES

static int good_queue_create(void *dev, uint32_t flags, void **out_queue)
{
    (void)dev, (void)flags;
    *out_queue = malloc(1);
    return *out_queue ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

static int good_queue_destroy(void *dev, void *queue)
{
    (void)dev;
    free(queue);
    return 0;
}

#endif

static int good_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin, (void)index, (void)dev;
    out->flags = FERRY_DEVICE_POINTERS;
    out->memory_total = GOOD_ARENA;
    out->max_alloc = GOOD_ARENA;
    return 0;
}

static int good_counters(void *dev, ferry_plugin_counters *out)
{
    uint32_t size = out->struct_size;

    (void)dev;
    pthread_mutex_lock(&good_lock);
    memcpy(out, &good_account, size < sizeof(*out) ? size : sizeof(*out));
    pthread_mutex_unlock(&good_lock);
    out->struct_size = size;
    return 0;
}

static ferry_plugin_ops good_ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .device_count = good_device_count,
    .device_open = good_device_open,
    .device_close = good_device_close,
    .alloc = good_alloc,
    .free = good_free,
    .memcpy = good_memcpy,
    .memset = good_memset,
    .axpy = good_axpy,
    .synchronize = good_synchronize,
    .properties = good_properties,
    .counters = good_counters,
#ifdef GOOD_ASYNC
    .event_record = good_event_record,
    .event_query = good_event_query,
    .event_synchronize = good_event_synchronize,
    .event_destroy = good_event_destroy,
    .queue_wait = good_queue_wait,
#endif
#ifdef GOOD_QUEUES
    .queue_create = good_queue_create,
    .queue_destroy = good_queue_destroy,
#endif
};

static void spoil(ferry_plugin_ops *ops);

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    good_host = host;
    spoil(&good_ops);
    *out = &good_ops;
    return 0;
}
