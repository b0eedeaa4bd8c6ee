/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/runtime.h"
#include "core/runtime/env_check.h"
#include "core/conf/conf_file.h"
#include "core/device/device.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/plugin/registry.h"
#include "core/base/status.h"
#include "core/device/trace.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

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
    rt->choice.all_but = true; /* of nothing: whatever there is */
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

/* The caller's structure may be older, and shorter, than ours. */
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
        err = ferry__loader_search(rt->conf, &rt->search);
    if (err) {
        ferry_runtime_close(rt);
        return err;
    }
    *out = rt;
    return 0;
}

void ferry_runtime_close(ferry_runtime *rt)
{
    if (!rt)
        return;
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
    ferry__trace_flush();
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
        /* it failed as it was set before; it may be opened again */
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
