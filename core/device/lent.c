/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/lent.h"

#include "core/base/status.h"
#include "core/device/pool.h"
#include "core/device/queue.h"
#include "core/plugin/host.h"

#include <stdlib.h>

/* The smallest block. Blocks are powers of two from here on, so that a queue keeps few sizes. */
#define LEAST UINT64_C(256)

static uint64_t rounded(uint64_t bytes)
{
    uint64_t size = LEAST;

    while (size < bytes)
        size *= 2;
    return size;
}

/* An idle block of that queue and size; NULL if there is no such block. */
static struct ferry__lent *take_idle(ferry_queue *q, uint64_t bytes)
{
    struct ferry__lent **at, *found = NULL;

    pthread_mutex_lock(&q->device->lent_lock);
    for (at = &q->device->lent; *at && !found; at = found ? at : &(*at)->next)
        if ((*at)->queue == q && (*at)->bytes == bytes) {
            found = *at;
            *at = found->next;
        }
    pthread_mutex_unlock(&q->device->lent_lock);
    return found;
}

static int take_new(ferry_queue *q, uint64_t bytes, struct ferry__lent **out)
{
    struct ferry__lent *s = calloc(1, sizeof *s);
    int err;

    if (!s)
        return ferry__error(FERRY_ENOMEM, "no memory for its record");
    s->queue = q;
    s->bytes = bytes;
    err = ferry__pool_scratch(q->device, q, bytes, &s->memory);
    if (err)
        free(s);
    else
        *out = s;
    return err;
}

/* After the entry has returned: its blocks become idle blocks of the queue. */
static void take_back(struct ferry__lent *lent)
{
    struct ferry__lent *s;
    ferry_device *dev = lent->queue->device;

    ferry__entry.lent = NULL;
    pthread_mutex_lock(&dev->lent_lock);
    while ((s = lent)) {
        lent = s->next;
        ferry__pool_lend(dev, s->bytes, false);
        s->next = dev->lent;
        dev->lent = s;
    }
    pthread_mutex_unlock(&dev->lent_lock);
}

/*
 * Takes a block from the pool. The pool may call other entries of this device, so this thread's
 * current entry is saved meanwhile.
 */
static int take(uint64_t bytes, void **out, const char **out_why)
{
    struct ferry__entry entry = ferry__entry;
    struct ferry__lent *s = NULL;
    int err = 0;

    *out_why = "only an entry that takes a queue may ask, of a device with FERRY_DEVICE_SCRATCH, "
               "on the thread that ferry called";
    if (!entry.queue)
        return FERRY_EINVAL;
    *out_why = "the size is 0 or too large";
    if (bytes == 0 || bytes > UINT64_MAX / 2)
        return FERRY_EINVAL;
    bytes = rounded(bytes);
    s = take_idle(entry.queue, bytes);
    if (s) {
        ferry__pool_lend(entry.queue->device, bytes, true);
    } else {
        ferry__entry = (struct ferry__entry){ .queue = NULL };
        err = take_new(entry.queue, bytes, &s);
        ferry__entry = entry;
        *out_why = ferry_last_error();
    }
    if (err)
        return err;
    s->next = ferry__entry.lent;
    ferry__entry.lent = s;
    ferry__entry.take_back = take_back;
    *out = s->memory;
    return 0;
}

void ferry__lent_offer(void)
{
    ferry__host_set_scratch(take);
    ferry__pool_set_lent(ferry__lent_trim);
}

/* ---- giving back; the lock is held, so that no queue ends meanwhile ---- */

static void give_back(ferry_device *dev, const ferry_queue *q)
{
    struct ferry__lent **at = &dev->lent, *s;

    while ((s = *at)) {
        if (s->queue != q) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        ferry__pool_drop(dev, s->memory, s->bytes);
        free(s);
    }
}

void ferry__lent_end(ferry_queue *q)
{
    pthread_mutex_lock(&q->device->lent_lock);
    give_back(q->device, q);
    pthread_mutex_unlock(&q->device->lent_lock);
}

void ferry__lent_trim(ferry_device *dev)
{
    struct ferry__lent *s;
    ferry_queue *q;

    pthread_mutex_lock(&dev->lent_lock);
    for (s = dev->lent; s; s = q ? dev->lent : s->next) {
        q = s->queue;
        if (!ferry__queue_is_free(q) && pthread_mutex_trylock(&q->lock) != 0) {
            q = NULL; /* another thread is about to use the queue */
            continue;
        }
        ferry__queue_settle(dev, q->handle);
        give_back(dev, q);
        if (!ferry__queue_is_free(q))
            pthread_mutex_unlock(&q->lock);
    }
    pthread_mutex_unlock(&dev->lent_lock);
}
