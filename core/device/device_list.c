/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/device_list.h"

#include "core/base/status.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_device *alive;               /* a listed device may have lost its last reference */
static ferry_device *slots[FERRY__SLOTS]; /* the device of each slot */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- locking -------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
}

static void forked_in_parent(void)
{
    pthread_mutex_unlock(&list_lock);
}

static void forked_in_child(void)
{
    pthread_mutex_unlock(&list_lock);
    atomic_fetch_add_explicit(&ferry__forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, forked_in_parent, forked_in_child);
}

static void lock(void)
{
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&list_lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&list_lock);
}

/* ---- those that are alive ------------------------------------------------------------------- */

/* Finds the plugin's device. The lock is held. */
static ferry_device *find(const struct ferry__plugin *plugin, uint32_t index, bool strict)
{
    for (ferry_device *dev = alive; dev; dev = dev->next)
        if (dev->plugin == plugin && dev->index == index && dev->strict == strict &&
            ferry__device_retain_alive(dev))
            return dev;
    return NULL;
}

ferry_device *ferry__device_list_find(const struct ferry__plugin *plugin, uint32_t index,
                                      bool strict)
{
    ferry_device *found;

    lock();
    found = find(plugin, index, strict);
    unlock();
    return found;
}

ferry_device *ferry__device_list_add(ferry_device *dev)
{
    ferry_device *found;

    lock();
    found = find(dev->plugin, dev->index, dev->strict);
    if (!found) {
        dev->next = alive;
        alive = dev;
    }
    unlock();
    return found ? found : dev;
}

void ferry__device_list_forget(const ferry_device *dev)
{
    ferry_device **place = &alive;

    lock();
    while (*place && *place != dev)
        place = &(*place)->next;
    if (*place)
        *place = dev->next;
    unlock();
}

/* ---- those that are open -------------------------------------------------------------------- */

int ferry__device_list_take_slot(ferry_device *dev)
{
    unsigned s;

    lock();
    for (s = FERRY__HOST + 1; s < FERRY__SLOTS && slots[s]; s++)
        ;
    if (s < FERRY__SLOTS) {
        slots[s] = dev;
        dev->slot = s;
    }
    unlock();
    if (s == FERRY__SLOTS)
        return ferry__error(FERRY_ENODEV, "%s: %u devices are open already, and no more can be",
                            dev->name, FERRY__SLOTS - 1);
    return 0;
}

void ferry__device_list_give_slot(ferry_device *dev)
{
    lock();
    if (dev->slot)
        slots[dev->slot] = NULL;
    dev->slot = 0;
    unlock();
}

void ferry__device_list_end(const struct ferry__plugin *plugin)
{
    unsigned former = atomic_load_explicit(&ferry__forks, memory_order_relaxed) - 1;

    lock();
    for (unsigned s = FERRY__HOST + 1; s < FERRY__SLOTS; s++)
        if (slots[s] && slots[s]->plugin == plugin) {
            atomic_store(&slots[s]->ended, true);
            atomic_store(&slots[s]->generation, former);
        }
    unlock();
}

ferry_device *ferry__device_host_memory(void)
{
    ferry_device *found = NULL;

    lock();
    for (unsigned s = FERRY__HOST + 1; s < FERRY__SLOTS && !found; s++)
        if (slots[s] && atomic_load(&slots[s]->state) == FERRY__DEVICE_OPEN &&
            ferry__device_is(slots[s], FERRY_DEVICE_HOST_MEMORY) &&
            !ferry__device_forked(slots[s]) && ferry__device_retain_alive(slots[s]))
            found = slots[s];
    unlock();
    return found;
}
