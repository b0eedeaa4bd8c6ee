/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock that all devices share, and the errors of entries. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>

struct sim_shared sim_shared = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

/* A worker that held the lock is not in the child, which opens devices of its own. */
static void forked_in_child(void)
{
    pthread_mutex_init(&sim_shared.lock, NULL);
    pthread_cond_init(&sim_shared.changed, NULL);
}

static void watch_forks_once(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
}

void sim_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks_once);
}

void sim_lock(void)
{
    pthread_mutex_lock(&sim_shared.lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&sim_shared.lock);
}

int sim_why_set(struct sim_why *why, int code, const char *fmt, ...)
{
    va_list args;

    why->code = code;
    va_start(args, fmt);
    vsnprintf(why->text, sizeof(why->text), fmt, args);
    va_end(args);
    return code;
}

int sim_why_tell(const struct sim_why *why)
{
    return why->code ? sim_shared.host->error(why->code, "%s", why->text) : 0;
}
