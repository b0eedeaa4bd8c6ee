/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/first.h"

#include "core/coherence/request.h"
#include "core/coherence/valid.h"
#include "core/device/pool.h"
#include "core/device/section.h"
#include "core/device/trace.h"

#include <string.h>

/* Whether the home is the host's memory and ready, and whatever is done there is done at once. */
static bool home_is_plain(const ferry_memory *m)
{
    return m->alias == m->home_slot && ferry__device_is(m->home, FERRY_DEVICE_HOST_MEMORY) &&
           !m->home->events && ferry__device_ready(m->home) && !ferry__trace_is_on();
}

/* No copy, no storage, no promise, no loss; the lock is held. */
static bool is_untouched(ferry_memory *m)
{
    return !atomic_load_explicit(&m->state, memory_order_relaxed) && !m->on_devices && !m->idle &&
           m->on_host.storage == FERRY__STORAGE_NONE && !m->on_host.uses;
}

/* What a first access by the host leaves. */
static void publish(ferry_memory *m, void *block, unsigned access)
{
    if (access & FERRY_READ)
        memset(block, 0, m->used);
    m->on_host.storage = FERRY__STORAGE_POOL;
    m->on_host.ref = (ferry_ref){ block, 0 };
    m->on_host.capacity = m->size;
    m->on_host.filled = m->used;
    m->on_host.failed = 0;
    m->on_host.owner = m->home;
    if (access & FERRY_WRITE)
        ferry__memory_count_write(m);
    m->host = block;
    m->home_ref = m->on_host.ref;
    atomic_store_explicit(&m->state, FERRY__VALID(FERRY__HOST), memory_order_release);
}

bool ferry__first_at_host(ferry_memory *m, unsigned access, ferry_ref *out)
{
    void *block = NULL;

    if (atomic_load_explicit(&m->state, memory_order_acquire) ||
        ferry__section_refuse("work on a memory") || ferry__request_lock(m, false))
        return false;
    if (is_untouched(m) && home_is_plain(m))
        block = ferry__pool_take(m->home, m->size);
    if (block) {
        publish(m, block, access);
        *out = m->home_ref;
    }
    pthread_mutex_unlock(&m->lock);
    return block != NULL;
}

/* No storage, nor work on any; and no device is retained but the home. */
static bool has_nothing(const ferry_memory *m)
{
    return m->on_host.storage == FERRY__STORAGE_NONE && !m->on_host.uses && !m->on_devices &&
           (!m->alias || m->alias_device == m->home);
}

bool ferry__first_give_back(ferry_memory *m)
{
    if (m->idle) /* an eviction may be at work on it */
        return false;
    if (has_nothing(m))
        return true;
    if (m->on_host.storage != FERRY__STORAGE_POOL || m->on_host.owner != m->home ||
        m->on_host.uses || m->on_devices || !home_is_plain(m))
        return false;
    ferry__pool_free(m->home, FERRY__POOL_DEVICE, m->on_host.ref.handle, m->on_host.capacity);
    return true;
}
