/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/workspace.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct ferry__workspace {
    struct ferry__workspace *next;
    ferry_queue *queue; /* compared, but not accessed: the queue may have been destroyed */
    ferry_device *device;
    ferry_memory *memory;
    bool taken;
};

static struct {
    pthread_mutex_t lock;
    unsigned users;
    struct ferry__workspace *all;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ferry__workspace *find_free(ferry_queue *q, ferry_device *dev)
{
    struct ferry__workspace *w;

    for (w = shared.all; w; w = w->next)
        if (!w->taken && w->queue == q && w->device == dev)
            return w;
    return NULL;
}

/* Claims a block for the caller; a new one has no memory yet. NULL: out of memory. */
static struct ferry__workspace *claim(ferry_queue *q, ferry_device *dev)
{
    struct ferry__workspace *w;

    pthread_mutex_lock(&shared.lock);
    w = find_free(q, dev);
    if (!w) {
        w = calloc(1, sizeof *w);
        if (w) {
            w->queue = q;
            w->device = dev;
            w->next = shared.all;
            shared.all = w;
        }
    }
    if (w)
        w->taken = true;
    pthread_mutex_unlock(&shared.lock);
    return w;
}

/* Makes the block larger. The former memory is freed once its work is complete. */
static int grow(struct ferry__workspace *w, uint64_t bytes)
{
    ferry_memory *larger;
    int err;

    if (w->memory && ferry_memory_size(w->memory) >= bytes)
        return 0;
    err = ferry_memory_create(w->device, (size_t)bytes, &larger);
    if (err)
        return err;
    ferry_memory_release(w->memory);
    w->memory = larger;
    return 0;
}

int ferry__workspace_take(ferry_queue *q, uint64_t bytes, struct ferry__workspace **out,
                          ferry_ref *out_ref)
{
    ferry_device *dev = ferry_queue_device(q);
    struct ferry__workspace *w = claim(q, dev);
    int err;

    if (!w)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for a workspace",
                               ferry_device_name(dev));
    err = grow(w, bytes);
    if (!err)
        err = ferry_memory_access(w->memory, dev, FERRY_WRITE, q, out_ref);
    if (err) {
        ferry__workspace_give_back(w);
        return err;
    }
    *out = w;
    return 0;
}

void ferry__workspace_give_back(struct ferry__workspace *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&shared.lock);
    w->taken = false;
    pthread_mutex_unlock(&shared.lock);
}

void ferry__workspace_join(void)
{
    pthread_mutex_lock(&shared.lock);
    shared.users++;
    pthread_mutex_unlock(&shared.lock);
}

void ferry__workspace_leave(void)
{
    struct ferry__workspace *all = NULL;

    pthread_mutex_lock(&shared.lock);
    if (!--shared.users) {
        all = shared.all;
        shared.all = NULL;
    }
    pthread_mutex_unlock(&shared.lock);
    while (all) {
        struct ferry__workspace *next = all->next;

        ferry_memory_release(all->memory);
        free(all);
        all = next;
    }
}
