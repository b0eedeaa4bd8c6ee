/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a device back to the runtime that lent it out. Several runtimes may have lent out one device; each stays
 * listed here from its opening to its closing.
 */
#include "config.h"

#include "core/runtime/runtime.h"

#include "core/base/status.h"
#include "core/device/device.h"

static struct {
    pthread_mutex_t lock; /* before a runtime's */
    ferry_runtime *first; /* the oldest */
} living = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t watching = PTHREAD_ONCE_INIT;

/* Another thread of the parent may have held it. */
static void forked_in_child(void)
{
    pthread_mutex_init(&living.lock, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
}

void ferry__runtime_list(ferry_runtime *rt)
{
    ferry_runtime **end;

    pthread_once(&watching, watch_forks);
    rt->users = 1;
    pthread_mutex_lock(&living.lock);
    for (end = &living.first; *end; end = &(*end)->next)
        ;
    *end = rt;
    pthread_mutex_unlock(&living.lock);
}

static bool drop(ferry_runtime *rt, bool closing)
{
    ferry_runtime **at;
    bool last;

    pthread_mutex_lock(&living.lock);
    for (at = &living.first; closing && *at; at = &(*at)->next)
        if (*at == rt) {
            *at = rt->next;
            break;
        }
    last = --rt->users == 0;
    pthread_mutex_unlock(&living.lock);
    return last;
}

bool ferry__runtime_unlist(ferry_runtime *rt)
{
    return drop(rt, true);
}

static bool has_lent(ferry_runtime *rt, const ferry_device *dev)
{
    const struct ferry__held *held;

    ferry__runtime_lock(rt);
    for (held = rt->devices; held && held->dev != dev; held = held->next)
        ;
    ferry__runtime_unlock(rt);
    return held != NULL;
}

/* The oldest runtime that has lent the device out, which is not destroyed until it is dropped; or NULL. */
static ferry_runtime *find(const ferry_device *dev)
{
    ferry_runtime *rt;

    pthread_mutex_lock(&living.lock);
    for (rt = living.first; rt && !has_lent(rt, dev); rt = rt->next)
        ;
    if (rt)
        rt->users++;
    pthread_mutex_unlock(&living.lock);
    return rt;
}

int ferry_device_sibling(ferry_device *dev, const char *name, ferry_device **out)
{
    ferry_runtime *rt;
    int err;

    if (!dev || !name || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_sibling: %s is NULL",
                            !dev    ? "dev"
                            : !name ? "name"
                                    : "out");
    rt = find(dev);
    if (!rt)
        return ferry__error(FERRY_EINVAL, "%s: %s is to come from its runtime, which is closed",
                            ferry_device_name(dev), name);
    err = ferry_runtime_device(rt, name, out);
    if (drop(rt, false))
        ferry__runtime_destroy(rt);
    return err;
}
