/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that runs a device's commands at their modelled time. It starts when the first queue
 * is used.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#define NEVER INT64_MAX

int sim_worker_init(struct sim_worker *worker, struct sim_why *why)
{
    pthread_condattr_t attributes;
    int failed;

    memset(worker, 0, sizeof(*worker));
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    failed = pthread_cond_init(&worker->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed ? sim_why_set(why, FERRY_ENOMEM, "pthread_cond_init: %s", strerror(failed)) : 0;
}

static void sleep_until(struct sim_worker *worker, int64_t when)
{
    struct timespec until;

    if (when == NEVER) {
        pthread_cond_wait(&worker->wake, &sim_shared.lock);
        return;
    }
    until.tv_sec = (time_t)(when / 1000000000);
    until.tv_nsec = (long)(when % 1000000000);
    pthread_cond_timedwait(&worker->wake, &sim_shared.lock, &until);
}

static void *work(void *argument)
{
    struct sim_device *dev = argument;

    sim_lock();
    while (!dev->worker.stop) {
        struct sim_queue *queue = dev->held ? NULL : sim_queue_earliest(dev);

        if (!queue)
            sleep_until(&dev->worker, NEVER);
        else if (sim_queue_due(queue) > sim_now())
            sleep_until(&dev->worker, sim_queue_due(queue));
        else
            sim_queue_run(queue);
    }
    sim_unlock();
    return NULL;
}

int sim_worker_start(struct sim_device *dev, struct sim_why *why)
{
    sigset_t all, before;
    int failed;

    if (dev->worker.started || dev->set.clock != SIM_CLOCK_REAL)
        return 0;
    /* blocked, because the program's own threads handle its signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&dev->worker.thread, NULL, work, dev);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return sim_why_set(why, FERRY_ENOMEM, "pthread_create: %s", strerror(failed));
    dev->worker.started = true;
    return 0;
}

void sim_worker_finish(struct sim_device *dev)
{
    bool started;

    sim_lock();
    started = dev->worker.started;
    dev->worker.stop = true;
    sim_device_wake(dev);
    sim_unlock();
    if (started)
        pthread_join(dev->worker.thread, NULL);
    sim_lock(); /* wakes the started threads of other devices */
    dev->worker.started = false;
    sim_unlock();
    pthread_cond_destroy(&dev->worker.wake);
}

int sim_queue_find(struct sim_device *dev, void *handle, struct sim_queue **out,
                   struct sim_why *why)
{
    struct sim_queue *queue = handle ? sim_queues_at(&dev->queues, handle) : &dev->main;
    int err = sim_alive(dev, why);

    if (err)
        return err;
    if (!queue)
        return sim_why_set(why, FERRY_EINVAL, "%p is not a queue of this device", handle);
    err = sim_worker_start(dev, why);
    if (!err)
        *out = queue;
    return err;
}
