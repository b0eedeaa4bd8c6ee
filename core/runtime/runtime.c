/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/runtime.h"
#include "core/conf/conf_file.h"
#include "core/device/device.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/os_posix.h"
#include "core/plugin/registry.h"
#include "core/base/status.h"
#include "core/device/trace_lanes.h"
#include "core/base/text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- locking -------------------------------------------------------------------------------- */

void ferry__runtime_lock(ferry_runtime *rt)
{
    ferry__log_hold();
    pthread_mutex_lock(&rt->lock);
}

void ferry__runtime_unlock(ferry_runtime *rt)
{
    pthread_mutex_unlock(&rt->lock);
    ferry__log_release();
}

/* ---- the environment ------------------------------------------------------------------------ */

static void say_unknown(const char *entry)
{
    char name[64];
    const char *nearest;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
    nearest = ferry__env_nearest(name);
    if (nearest)
        ferry__log(FERRY_LOG_WARN, "%s is not a variable of ferry; did you mean %s?", name,
                   nearest);
    else
        ferry__log(FERRY_LOG_WARN, "%s is not a variable of ferry", name);
}

static void say_ignored(const char *entry)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        ferry__log(FERRY_LOG_WARN,
                   "%.*s and all other variables are ignored: the program runs with more rights "
                   "than the user who started it",
                   (int)strcspn(entry, "="), entry);
}

void ferry__env_check(void)
{
    bool is_secure = ferry__os_is_secure();

    for (char **entry = environ; entry && *entry; entry++) {
        if (is_secure && strncmp(*entry, "FERRY_", sizeof("FERRY_") - 1) == 0)
            say_ignored(*entry);
        else if (!is_secure && ferry__env_is_unknown(*entry))
            say_unknown(*entry);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Whether the reason is about the file itself and does not name it yet. */
static bool needs_path(const struct ferry__candidate *candidate)
{
    const ferry_runtime_candidate_info *line = &candidate->line;

    return (candidate->code == FERRY_EPLUGIN || candidate->code == FERRY_EABI ||
            candidate->code == FERRY_EPERM || candidate->code == FERRY_EIO) &&
           strcmp(line->stage, FERRY__STAGE_OPEN) != 0 &&
           strcmp(line->stage, FERRY__STAGE_DEVICES) != 0 && !strstr(line->reason, line->path);
}

int ferry__runtime_refused(const struct ferry__candidate *candidate)
{
    const ferry_runtime_candidate_info *line = &candidate->line;
    bool path = needs_path(candidate);
    bool hint = line->hint[0] != '\0';

    return ferry__error(candidate->code, "%s: %s%s%s%s%s%s", line->name, path ? line->path : "",
                        path ? ": " : "", line->reason, hint ? " (" : "", line->hint,
                        hint ? ")" : "");
}

/* ---- the open ones -------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* taken before a runtime's lock */
    ferry_runtime *first; /* the oldest runtime */
} living = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t watching = PTHREAD_ONCE_INIT;

/* A thread of the parent may have held the lock at the fork. */
static void forked_in_child(void)
{
    pthread_mutex_init(&living.lock, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
}

static void list(ferry_runtime *rt)
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

/* Removes one user of the runtime; true if it was the last one. */
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

static bool has_lent(ferry_runtime *rt, const ferry_device *dev)
{
    const struct ferry__held *held;

    ferry__runtime_lock(rt);
    for (held = rt->devices; held && held->dev != dev; held = held->next)
        ;
    ferry__runtime_unlock(rt);
    return held != NULL;
}

ferry_runtime *ferry__runtime_of(const ferry_device *dev)
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

/* ---- open and close ------------------------------------------------------------------------- */

static int parse_choice(ferry_runtime *rt, int code, const char *text, const char *origin)
{
    char why[128];

    if (ferry__choice_parse(text, &rt->choice, why))
        return ferry__error(code, "%s: backend = %s: %s", origin, text, why);
    rt->has_choice = true;
    rt->choice_origin = strdup(origin);
    if (!rt->choice_origin)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for the choice of backends", origin);
    return 0;
}

static int choose(ferry_runtime *rt, const ferry_runtime_options *options)
{
    const char *variable = ferry__env_get("FERRY_BACKEND");

    if (options->backend && *options->backend)
        return parse_choice(rt, FERRY_EINVAL, options->backend, "ferry_runtime_open");
    if (variable)
        return parse_choice(rt, FERRY_ECONF, variable, "FERRY_BACKEND");
    if (rt->conf->backend.text)
        return parse_choice(rt, FERRY_ECONF, rt->conf->backend.text, rt->conf->backend.origin);
    rt->choice.all_but = true; /* all backends except an empty list: any available device */
    return 0;
}

static int settle_strict(ferry_runtime *rt, const ferry_runtime_options *options)
{
    const char *variable = ferry__env_get("FERRY_STRICT");
    int said = options->strict;

    if (said != FERRY_STRICT_UNSET && said != FERRY_STRICT_ON && said != FERRY_STRICT_OFF)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_open: options.strict is %d", said);
    rt->strict = said == FERRY_STRICT_ON;
    if (said != FERRY_STRICT_UNSET)
        return 0;
    if (variable && !ferry__text_bool(variable, &rt->strict))
        return ferry__error(FERRY_ECONF, "FERRY_STRICT=%s: neither 1 nor 0", variable);
    if (!variable)
        rt->strict = ferry__conf_bool(&rt->conf->strict, false);
    return 0;
}

/* Copies the caller's options, whose structure may be from an older version, and shorter. */
static int take_options(const ferry_runtime_options *theirs, ferry_runtime_options *out)
{
    *out = (ferry_runtime_options){ .struct_size = sizeof(*out) };
    if (!theirs)
        return 0;
    if (theirs->struct_size < sizeof(theirs->struct_size))
        return ferry__error(FERRY_EINVAL, "ferry_runtime_open: options.struct_size is not set");
    memcpy(out, theirs, theirs->struct_size < sizeof(*out) ? theirs->struct_size : sizeof(*out));
    return 0;
}

static void destroy(ferry_runtime *rt)
{
    while (rt->devices) {
        struct ferry__held *held = rt->devices;

        rt->devices = held->next;
        ferry__device_release(held->dev);
        free(held);
    }
    free(rt->listed);
    free(rt->choice_origin);
    ferry__loader_destroy(rt->search);
    ferry__loader_destroy(rt->libraries);
    ferry__conf_destroy(rt->conf);
    pthread_mutex_destroy(&rt->lock);
    free(rt);
    ferry__lanes_flush();
    ferry__trace_flush();
}

int ferry_runtime_open(const ferry_runtime_options *options, ferry_runtime **out)
{
    ferry_runtime_options given;
    ferry_runtime *rt;
    int err;

    if (!out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_open: out is NULL");
    err = take_options(options, &given);
    if (err)
        return err;
    rt = calloc(1, sizeof(*rt));
    if (!rt)
        return ferry__error(FERRY_ENOMEM, "ferry_runtime_open: no memory for the runtime");
    pthread_mutex_init(&rt->lock, NULL);
    ferry__log_configure();
    ferry__trace_configure();
    ferry__env_check();
    err = ferry__conf_load(given.conf, &rt->conf);
    if (!err)
        err = choose(rt, &given);
    if (!err)
        err = settle_strict(rt, &given);
    if (!err)
        err = ferry__loader_search(rt->conf, given.plugin_path_last, &rt->search);
    if (err) {
        destroy(rt);
        return err;
    }
    list(rt);
    *out = rt;
    return 0;
}

void ferry_runtime_close(ferry_runtime *rt)
{
    if (rt && drop(rt, true))
        destroy(rt);
}

void ferry__runtime_drop(ferry_runtime *rt)
{
    if (drop(rt, false))
        destroy(rt);
}

/* ---- options -------------------------------------------------------------------------------- */

static int set_locked(ferry_runtime *rt, const char *plugin, const char *key, const char *value)
{
    struct ferry__candidate *candidate = ferry__loader_find(rt->search, plugin);
    struct ferry__section *section;
    char *name;
    int err;

    if (candidate && candidate->real && ferry__registry_is_open(candidate))
        return ferry__error(FERRY_EBUSY, "%s: option %s: the plugin is open already", plugin, key);
    section = ferry__conf_make_section(rt->conf, plugin, "API");
    if (!section)
        return FERRY_ENOMEM;
    if (strcmp(key, "pool_limit") == 0 || strcmp(key, "budget") == 0)
        return ferry__conf_set(section, key, value, "API");
    name = ferry__text_format("option.%s", key);
    if (!name)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for option %s", plugin, key);
    err = ferry__conf_set(section, name, value, "API");
    free(name);
    if (!err && candidate && candidate->retry) {
        /* the plugin failed with its former options, and may be opened again */
        ferry__loader_report(rt->search, candidate, FERRY__STAGE_ABI, 0, "", "");
        candidate->retry = false;
    }
    return err;
}

int ferry_runtime_set_option(ferry_runtime *rt, const char *plugin, const char *key,
                             const char *value)
{
    uint64_t size;
    int err;

    if (!rt || !plugin || !key || !*key || !value)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_set_option: %s is NULL or empty",
                            !rt       ? "rt"
                            : !plugin ? "plugin"
                            : !value  ? "value"
                                      : "key");
    if (!ferry__text_is_name(plugin, strlen(plugin)))
        return ferry__error(FERRY_EINVAL, "ferry_runtime_set_option: \"%s\" is not a plugin's name",
                            plugin);
    if ((strcmp(key, "pool_limit") == 0 || strcmp(key, "budget") == 0) &&
        !ferry__text_size(value, &size))
        return ferry__error(FERRY_EINVAL, "%s: %s = %s: not a size (as in 4096, 512MiB, 4GiB)",
                            plugin, key, value);
    ferry__runtime_lock(rt);
    err = set_locked(rt, plugin, key, value);
    ferry__runtime_unlock(rt);
    return err;
}

/* ---- the owner of a handle ------------------------------------------------------------------ */

/* As ferry__device_ask; 0 for a device that cannot be asked. */
static int ask(ferry_device *dev, const void *handle)
{
    int said;

    if (ferry__device_is_closed(dev) || ferry__device_lost(dev))
        return 0;
    said = ferry__device_usable(dev);
    if (!said)
        said = ferry__device_ask(dev, handle);
    return said == FERRY_ELOST || said == FERRY_EUNSUPPORTED ? 0 : said;
}

int ferry_runtime_find_owner(ferry_runtime *rt, const void *handle, ferry_device **out)
{
    const struct ferry__held *held;
    ferry_device *owner = NULL;
    int err = 0;

    if (!rt || !handle || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_find_owner: %s is NULL",
                            !rt       ? "rt"
                            : !handle ? "handle"
                                      : "out");
    ferry__runtime_lock(rt);
    held = rt->devices; /* devices are added at the beginning only, until the runtime is closed */
    ferry__runtime_unlock(rt);
    for (; held && !owner; held = held->next) {
        int said = ask(held->dev, handle);

        if (said > 0)
            owner = held->dev;
        else if (said < 0)
            err = said;
    }
    if (!owner && err)
        return err;
    *out = owner;
    return 0;
}
