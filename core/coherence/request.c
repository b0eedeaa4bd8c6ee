/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/request.h"

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/device/section.h"

/*
 * A thread that was at work on the memory when its process forked is not in the child to unlock it:
 * the child may wait for its own threads alone.
 */
int ferry__request_lock(ferry_memory *m, bool nowait)
{
    unsigned forks = atomic_load_explicit(&ferry__forks, memory_order_relaxed);
    bool forked = ferry__device_forked(m->home);

    if (!nowait && !forked) {
        pthread_mutex_lock(&m->lock);
    } else if (pthread_mutex_trylock(&m->lock)) {
        if (forked && atomic_load_explicit(&m->locked_in, memory_order_relaxed) != forks)
            return ferry__error(FERRY_EFORKED, "%s: the parent was at work on this memory: %s",
                                m->home->name, ferry_strerror(FERRY_EFORKED));
        if (nowait)
            return ferry__error(FERRY_EBUSY, "%s: another thread is at work on this memory",
                                m->home->name);
        pthread_mutex_lock(&m->lock);
    }
    atomic_store_explicit(&m->locked_in, forks, memory_order_relaxed);
    return 0;
}

int ferry__request_begin(struct ferry__request *req, ferry_memory *m, ferry_device *where,
                         bool nowait)
{
    int err;

    req->m = m;
    req->where = where;
    req->q = req->hint = NULL;
    req->slot = where ? where->slot : FERRY__HOST;
    req->access = 0;
    req->prefetch = req->ordered = req->evicting = false;
    req->nowait = nowait;
    req->reason = FERRY__READ_MISS;
    req->after.first = NULL;
    err = ferry__section_refuse("work on a memory");
    if (err)
        return err;
    ferry__log_hold();
    err = ferry__request_lock(m, nowait);
    if (err) {
        ferry__log_release();
        return err;
    }
    req->valid = ferry__coherence_valid(m);
    return 0;
}

void ferry__request_end(struct ferry__request *req)
{
    pthread_mutex_unlock(&req->m->lock);
    ferry__log_release();
    ferry__after_unlock_run(&req->after);
}
