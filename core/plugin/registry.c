/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/registry.h"
#include "core/plugin/plugin_table.h"
#include "core/plugin/host.h"
#include "core/load/loader.h"
#include "core/validate/validate.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/plugin/options.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEVICES 4096u

/*
 * OPENING: one thread runs the plugin's code, without a lock. ABANDONED: a thread of the parent was
 * opening it at the fork.
 */
enum state { CLOSED, OPENING, OPEN, ABANDONED };

struct opened {
    struct ferry__plugin plugin; /* first member: the part that the rest of the core sees */
    dev_t dev;
    ino_t ino;
    enum state state;
    pthread_t opener;
    bool adopted; /* ferry_plugin_open has succeeded; it is not called again */
    uint32_t count;
    struct ferry__settings *settings;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ferry__plugin *plugins;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- locking -------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&registry.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&registry.lock);
}

static void after_fork_child(void)
{
    struct ferry__plugin *plugin;

    for (plugin = registry.plugins; plugin; plugin = plugin->next) {
        struct opened *opened = (struct opened *)plugin;

        if (opened->state == OPENING && !pthread_equal(opened->opener, pthread_self()))
            opened->state = ABANDONED;
    }
    pthread_cond_init(&registry.changed, NULL);
    pthread_mutex_unlock(&registry.lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void lock(void)
{
    pthread_once(&fork_once, watch_forks);
    ferry__log_hold();
    pthread_mutex_lock(&registry.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&registry.lock);
    ferry__log_release();
}

/* ---- plugins -------------------------------------------------------------------------------- */

static struct opened *find(const struct ferry__candidate *candidate)
{
    struct ferry__plugin *plugin;

    for (plugin = registry.plugins; plugin; plugin = plugin->next) {
        struct opened *opened = (struct opened *)plugin;

        if (opened->dev == candidate->dev && opened->ino == candidate->ino)
            return opened;
    }
    return NULL;
}

static struct opened *create(const struct ferry__candidate *candidate)
{
    struct opened *opened = calloc(1, sizeof(*opened));

    if (!opened)
        return NULL;
    memcpy(opened->plugin.name, candidate->note.name, sizeof(opened->plugin.name));
    memcpy(opened->plugin.version, candidate->note.version, sizeof(opened->plugin.version));
    opened->plugin.version[sizeof(opened->plugin.version) - 1] = '\0';
    opened->dev = candidate->dev;
    opened->ino = candidate->ino;
    opened->plugin.next = registry.plugins;
    registry.plugins = &opened->plugin;
    return opened;
}

static void take_settings(struct opened *opened, struct ferry__settings *settings)
{
    settings->former = opened->settings;
    opened->settings = settings;
    opened->plugin.options = settings->options;
    opened->plugin.keys = settings->keys;
    opened->plugin.pool_limit = settings->pool_limit;
    opened->plugin.budget = settings->budget;
}

/* Refuses with the plugin's message for the result of its entry, or with a message about that. */
static int refuse_as_said(struct ferry__refusal *refusal, int result, const char *entry)
{
    char said[1024];
    bool silent = !ferry__host_has_said();
    int code = ferry__host_take_failure(result, said, sizeof(said));

    return ferry__refuse(refusal, code, "", "%s%s%s", silent ? entry : "",
                         silent ? " failed: " : "", said);
}

/* Whether FERRY_VALIDATE or the plugin's section enables the checks of the rules. */
static int wants_validation(const struct opened *opened, bool *out, struct ferry__refusal *refusal)
{
    const char *text = ferry__env_get("FERRY_VALIDATE");

    *out = opened->settings->validate;
    if (!text || ferry__text_bool(text, out))
        return 0;
    return ferry__refuse(refusal, FERRY_ECONF, "", "FERRY_VALIDATE=%.64s: neither 1 nor 0", text);
}

/* Wraps the plugin's entries with the checks of the rules, if these are enabled. */
static int validate(struct opened *opened, struct ferry__refusal *refusal)
{
    bool wanted;
    int err = wants_validation(opened, &wanted, refusal);

    if (err || !wanted)
        return err;
    err = ferry__validate_wrap(opened->plugin.name, !(opened->plugin.given & FERRY__GIVEN_EVENTS),
                               &opened->plugin.ops);
    return err ? ferry__refuse(refusal, err, "", "%s", ferry_last_error()) : 0;
}

/* Calls the plugin's own code; no lock is held. */
static int adopt(struct opened *opened, const struct ferry__candidate *candidate,
                 const char **out_stage, struct ferry__refusal *refusal)
{
    const ferry_plugin_ops *theirs = NULL;
    ferry__open_fn *open_plugin = NULL;
    int err;

    *out_stage = FERRY__STAGE_DLOPEN;
    err = ferry__loader_load(candidate, &open_plugin, refusal);
    if (err)
        return err;
    *out_stage = FERRY__STAGE_OPEN;
    ferry__host_take_error();
    ferry__host_enter(&opened->plugin);
    err = open_plugin(&ferry__host, &theirs);
    ferry__host_leave();
    if (err)
        return refuse_as_said(refusal, err, "ferry_plugin_open");
    if (!theirs)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "ferry_plugin_open returned no table");
    err = ferry__plugin_table_adopt(theirs, &opened->plugin.ops, &opened->plugin.given);
    if (err)
        return ferry__refuse(refusal, err, "", "%s", ferry_last_error());
    err = validate(opened, refusal);
    if (err)
        return err;
    opened->adopted = true;
    return 0;
}

static int count_devices(struct opened *opened, const char **out_stage,
                         struct ferry__refusal *refusal)
{
    const struct ferry__plugin *plugin = &opened->plugin;
    uint32_t count = 0;
    int err;

    *out_stage = FERRY__STAGE_DEVICES;
    ferry__host_take_error();
    ferry__host_enter(plugin);
    err = plugin->ops.device_count(plugin->ops.plugin, &count);
    ferry__host_leave();
    if (err)
        return refuse_as_said(refusal, err, "device_count");
    if (count > MOST_DEVICES)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "",
                             "device_count returned %u devices, and at most %u are supported",
                             count, MOST_DEVICES);
    opened->count = count;
    if (count == 0)
        return ferry__refuse(refusal, FERRY_ENODEV, "", "it found no device");
    return 0;
}

/*
 * Under the lock: waits until no other thread is opening the plugin. 0, or the reason why it cannot
 * be opened.
 */
static int wait_until_settled(struct opened *opened, struct ferry__refusal *refusal)
{
    while (opened->state == OPENING) {
        if (pthread_equal(opened->opener, pthread_self()))
            return ferry__refuse(refusal, FERRY_EBUSY, "",
                                 "this thread is already opening it");
        pthread_cond_wait(&registry.changed, &registry.lock);
    }
    if (opened->state == ABANDONED)
        return ferry__refuse(refusal, FERRY_EFORKED, "",
                             "the parent process was opening it at the fork");
    return 0;
}

int ferry__registry_open(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                         const struct ferry__plugin **out, const char **out_stage,
                         struct ferry__refusal *refusal)
{
    struct opened *opened;
    int err = 0;

    *out_stage = FERRY__STAGE_DLOPEN;
    lock();
    opened = find(candidate);
    if (!opened)
        opened = create(candidate);
    if (!opened)
        err = ferry__refuse(refusal, FERRY_ENOMEM, "", "no memory for it");
    if (!err)
        err = wait_until_settled(opened, refusal);
    if (err || opened->state == OPEN) {
        unlock();
        ferry__settings_destroy(settings);
        goto out;
    }
    take_settings(opened, settings);
    opened->state = OPENING;
    opened->opener = pthread_self();
    unlock();

    if (!opened->adopted)
        err = adopt(opened, candidate, out_stage, refusal);
    if (!err)
        err = ferry__options_check(&opened->plugin, refusal);
    if (!err)
        err = count_devices(opened, out_stage, refusal);

    lock();
    opened->state = err ? CLOSED : OPEN;
    pthread_cond_broadcast(&registry.changed);
    unlock();
out:
    if (err)
        return err;
    *out_stage = FERRY__STAGE_DEVICES;
    *out = &opened->plugin;
    return 0;
}

bool ferry__registry_is_open(const struct ferry__candidate *candidate)
{
    const struct opened *opened;
    bool is_open;

    lock();
    opened = find(candidate);
    is_open = opened && opened->state != CLOSED;
    unlock();
    return is_open;
}

uint32_t ferry__registry_count(const struct ferry__plugin *plugin)
{
    return ((const struct opened *)plugin)->count;
}
