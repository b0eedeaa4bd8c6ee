/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/idle.h"

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ferry__idle_node *oldest, *newest;
static uint64_t promises;

/*
 * A child of fork has the parent's memories, and cannot evict them; and the thread that held the
 * list's lock does not exist in the child.
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

/* ---- the list; its lock is held ---- */

/* Inserts a node after `before`; NULL: at the beginning. */
static void put(struct ferry__idle_node *n, struct ferry__idle_node *before)
{
    n->before = before;
    n->next = before ? before->next : oldest;
    *(n->next ? &n->next->before : &newest) = n;
    *(before ? &before->next : &oldest) = n;
}

static void take(struct ferry__idle_node *n)
{
    *(n->before ? &n->before->next : &oldest) = n->next;
    *(n->next ? &n->next->before : &newest) = n->before;
}

/* ---- promises ---- */

void ferry__idle_offer(ferry_memory *m)
{
    if (ferry__device_forked(m->home)) /* none of its copies can be evicted */
        return;
    pthread_once(&once, watch_forks);
    m->idle = 1;
    pthread_mutex_lock(&idle_lock);
    m->idle_node.memory = m;
    m->idle_node.promise = ++promises;
    put(&m->idle_node, newest);
    pthread_mutex_unlock(&idle_lock);
}

void ferry__idle_withdraw(ferry_memory *m)
{
    if (!m->idle)
        return;
    m->idle = 0;
    if (ferry__device_forked(m->home)) /* the promise was made before fork: not listed here */
        return;
    pthread_mutex_lock(&idle_lock);
    take(&m->idle_node);
    pthread_mutex_unlock(&idle_lock);
}

/* ---- walks ---- */

void ferry__idle_begin(struct ferry__idle_walk *w)
{
    w->at.memory = NULL;
    pthread_mutex_lock(&idle_lock);
    w->last = promises;
    put(&w->at, NULL);
    pthread_mutex_unlock(&idle_lock);
}

void ferry__idle_end(struct ferry__idle_walk *w)
{
    pthread_mutex_lock(&idle_lock);
    take(&w->at);
    pthread_mutex_unlock(&idle_lock);
}

ferry_memory *ferry__idle_next(struct ferry__idle_walk *w)
{
    struct ferry__idle_node *n;
    ferry_memory *found = NULL;

    pthread_mutex_lock(&idle_lock);
    while (!found && (n = w->at.next) && !(n->memory && n->promise > w->last)) {
        take(&w->at);
        put(&w->at, n);
        if (n->memory && !pthread_mutex_trylock(&n->memory->lock))
            found = n->memory;
    }
    pthread_mutex_unlock(&idle_lock);
    return found;
}
