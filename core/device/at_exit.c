/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/at_exit.h"

#include "core/base/status.h"
#include "core/device/device_list.h"

#include <pthread.h>
#include <stdlib.h>

/* A plugin with its exit() handler. Handlers run in the reverse order of their registration. */
struct watched {
    struct watched *next;
    const struct ferry__plugin *plugin;
    atomic_bool ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct watched *) latest;

static struct watched *find(const struct ferry__plugin *plugin)
{
    struct watched *w = atomic_load_explicit(&latest, memory_order_acquire);

    while (w && w->plugin != plugin)
        w = w->next;
    return w;
}

/* Ends the latest plugin that has not ended: exit() runs the last handler first. */
static void end_latest(void)
{
    struct watched *w = atomic_load_explicit(&latest, memory_order_acquire);

    while (w && atomic_load(&w->ended))
        w = w->next;
    if (!w)
        return;
    atomic_store(&w->ended, true);
    ferry__device_list_end(w->plugin);
}

void ferry__at_exit_watch(const struct ferry__plugin *plugin)
{
    struct watched *w;

    if (find(plugin))
        return;
    pthread_mutex_lock(&lock);
    w = find(plugin) ? NULL : calloc(1, sizeof *w);
    if (w) {
        w->plugin = plugin;
        w->next = atomic_load_explicit(&latest, memory_order_relaxed);
        if (!atexit(end_latest))
            atomic_store_explicit(&latest, w, memory_order_release);
        else
            free(w);
    }
    pthread_mutex_unlock(&lock);
}

int ferry__at_exit_check(const struct ferry__plugin *plugin, const char *name)
{
    const struct watched *w = find(plugin);

    return w && atomic_load(&w->ended)
               ? ferry__error(FERRY_ELOST, "%s: the process is ending", name)
               : 0;
}
