/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/idle.h"

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_memory *oldest, *newest;

/*
 * A child of fork has the parent's memories, none of which it could evict; and whoever held the lock
 * is not there to give it back.
 */
static void forked_in_child(void)
{
    pthread_mutex_init(&idle_lock, NULL);
    oldest = newest = NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
}

ferry_memory *ferry__idle_lock(void)
{
    pthread_mutex_lock(&idle_lock);
    return oldest;
}

void ferry__idle_unlock(void)
{
    pthread_mutex_unlock(&idle_lock);
}

void ferry__idle_offer(ferry_memory *m)
{
    if (ferry__device_forked(m->home)) /* nothing of it can go */
        return;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&idle_lock);
    m->idle = 1;
    m->idle_next = NULL;
    m->idle_before = newest;
    if (newest)
        newest->idle_next = m;
    else
        oldest = m;
    newest = m;
    pthread_mutex_unlock(&idle_lock);
}

void ferry__idle_withdraw(ferry_memory *m)
{
    if (!m->idle)
        return;
    m->idle = 0;
    if (ferry__device_forked(m->home)) /* the promise was the parent's: it is on no list here */
        return;
    pthread_mutex_lock(&idle_lock);
    if (m->idle_before)
        m->idle_before->idle_next = m->idle_next;
    else
        oldest = m->idle_next;
    if (m->idle_next)
        m->idle_next->idle_before = m->idle_before;
    else
        newest = m->idle_before;
    pthread_mutex_unlock(&idle_lock);
}
