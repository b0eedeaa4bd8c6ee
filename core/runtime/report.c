/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries about plugins other than their devices: the load report, their options, and probing them
 * in a child process.
 */
#include "config.h"

#include "core/runtime/runtime.h"
#include "core/conf/choice.h"
#include "core/plugin/options.h"
#include "core/plugin/registry.h"
#include "core/base/status.h"
#include "core/runtime/plugin_probe.h"

#include <string.h>

#define DEFAULT_TIMEOUT_MS 10000

/* ---- the load report ------------------------------------------------------------------------ */

int ferry_runtime_candidate_count(const ferry_runtime *rt)
{
    const struct ferry__candidate *candidate = rt ? rt->search->first : NULL;
    int n = 0;

    for (; candidate; candidate = candidate->next)
        n++;
    return n;
}

/* The line of that index; NULL beyond the last. The list does not change once it is complete. */
static const ferry_runtime_candidate_info *line_at(const ferry_runtime *rt, int index)
{
    const struct ferry__candidate *candidate = index < 0 ? NULL : rt->search->first;

    for (int i = 0; candidate && i < index; i++)
        candidate = candidate->next;
    return candidate ? &candidate->line : NULL;
}

int ferry_runtime_candidate_at(ferry_runtime *rt, int index,
                               const ferry_runtime_candidate_info **out)
{
    const ferry_runtime_candidate_info *line;

    if (!rt || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_candidate_at: %s is NULL",
                            rt ? "out" : "rt");
    line = line_at(rt, index);
    if (!line)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_candidate_at: index %d of %d lines", index,
                            ferry_runtime_candidate_count(rt));
    *out = line;
    return 0;
}

/* ---- options -------------------------------------------------------------------------------- */

/* The plugin of that name, opened. */
static int open_named(ferry_runtime *rt, const char *plugin, const struct ferry__plugin **out)
{
    struct ferry__candidate *candidate = ferry__loader_find(rt->search, plugin);

    return candidate ? ferry__runtime_open_plugin(rt, candidate, out)
                     : ferry__runtime_unknown(rt, plugin);
}

int ferry_runtime_option_count(ferry_runtime *rt, const char *plugin, int *out_count)
{
    const struct ferry__plugin *opened;
    ferry_runtime_option_info info;
    int err, n = 0;

    if (!rt || !plugin || !out_count)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_option_count: an argument is NULL");
    err = open_named(rt, plugin, &opened);
    if (err)
        return err;
    while (ferry__options_describe(opened, (uint32_t)n, &info))
        n++;
    *out_count = n;
    return 0;
}

/*
 * Describes an option. 1 if there is such an option, 0 if not, or the code of a failure to open the
 * plugin.
 */
static int describe(ferry_runtime *rt, const char *plugin, int index,
                    ferry_runtime_option_info *out)
{
    const struct ferry__plugin *opened;
    ferry_runtime_option_info info;
    int err = open_named(rt, plugin, &opened);

    if (err)
        return err;
    if (index < 0 || !ferry__options_describe(opened, (uint32_t)index, &info))
        return 0;
    info.struct_size = out->struct_size;
    memcpy(out, &info, info.struct_size < sizeof(info) ? info.struct_size : sizeof(info));
    return 1;
}

int ferry_runtime_option_at(ferry_runtime *rt, const char *plugin, int index,
                            ferry_runtime_option_info *out)
{
    int found;

    if (!rt || !plugin || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_option_at: an argument is NULL");
    if (out->struct_size < sizeof out->struct_size)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_option_at: struct_size is not set");
    found = describe(rt, plugin, index, out);
    if (!found)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_option_at: %s has no option %d", plugin,
                            index);
    return found < 0 ? found : 0;
}

/* ---- in a process of its own ---------------------------------------------------------------- */

/*
 * The settings for the probe. NULL if the candidate is not to be probed, with the reason in
 * *out_err.
 */
static struct ferry__settings *settings_to_probe(ferry_runtime *rt,
                                                 struct ferry__candidate *candidate, int *out_err)
{
    struct ferry__settings *settings = NULL;

    *out_err = 0;
    ferry__runtime_lock(rt);
    if (candidate->code && !candidate->retry) {
        *out_err = ferry__runtime_refused(candidate);
    } else {
        settings = ferry__settings_create(rt->conf, candidate->line.name);
        if (!settings)
            *out_err =
                ferry__error(FERRY_ENOMEM, "%s: no memory for its options", candidate->line.name);
    }
    ferry__runtime_unlock(rt);
    return settings;
}

static const char *stage_of(const struct ferry__verdict *verdict)
{
    static const char *const stages[] = { FERRY__STAGE_DLOPEN, FERRY__STAGE_OPEN,
                                          FERRY__STAGE_DEVICES };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        if (strcmp(verdict->stage, stages[i]) == 0)
            return stages[i];
    return FERRY__STAGE_OPEN;
}

static int try_out(ferry_runtime *rt, struct ferry__candidate *candidate, int timeout_ms,
                   uint32_t *out_count)
{
    struct ferry__verdict verdict = { 0 };
    struct ferry__settings *settings;
    int err;

    settings = settings_to_probe(rt, candidate, &err);
    if (!settings)
        return err;
    err = ferry__plugin_probe(candidate, settings, timeout_ms, &verdict);
    if (err)
        return err;
    ferry__runtime_lock(rt);
    ferry__loader_report(rt->search, candidate, stage_of(&verdict), verdict.code,
                         verdict.code ? verdict.refusal.reason : "",
                         verdict.code ? verdict.refusal.hint : candidate->line.hint);
    candidate->retry = verdict.code != 0;
    if (verdict.code)
        err = ferry__runtime_refused(candidate);
    ferry__runtime_unlock(rt);
    *out_count = verdict.count;
    return err;
}

static int probe_one(ferry_runtime *rt, struct ferry__candidate *candidate, int timeout_ms,
                     uint32_t *out_count)
{
    const struct ferry__plugin *opened = NULL;
    int err;

    if (!candidate->real || !ferry__registry_is_open(candidate))
        return try_out(rt, candidate, timeout_ms, out_count);
    err = ferry__runtime_open_plugin(rt, candidate, &opened);
    if (!err)
        *out_count = ferry__registry_count(opened);
    return err;
}

static bool is_refused(ferry_runtime *rt, const struct ferry__candidate *candidate)
{
    bool refused;

    ferry__runtime_lock(rt);
    refused = candidate->code != 0;
    ferry__runtime_unlock(rt);
    return refused;
}

/*
 * Probes all candidates. A failure without a line in the report, such as a lack of processes, is
 * returned.
 */
static int probe_all(ferry_runtime *rt, int timeout_ms, uint32_t *out_count)
{
    struct ferry__candidate *candidate;
    uint32_t sum = 0;

    for (candidate = rt->search->first; candidate; candidate = candidate->next) {
        uint32_t count = 0;
        int err = 0;

        if (candidate->claims && ferry__choice_allows(&rt->choice, candidate->line.name))
            err = probe_one(rt, candidate, timeout_ms, &count);
        if (err && !is_refused(rt, candidate))
            return err;
        sum += err ? 0 : count;
    }
    *out_count = sum;
    return 0;
}

int ferry_runtime_probe(ferry_runtime *rt, const char *plugin, int timeout_ms, int *out_count)
{
    struct ferry__candidate *candidate;
    uint32_t count = 0;
    int err;

    if (!rt)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_probe: rt is NULL");
    if (timeout_ms < 0)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_probe: %d ms", timeout_ms);
    candidate = plugin ? ferry__loader_find(rt->search, plugin) : NULL;
    if (plugin && !candidate)
        return ferry__runtime_unknown(rt, plugin);
    if (!timeout_ms)
        timeout_ms = DEFAULT_TIMEOUT_MS;
    err = candidate ? probe_one(rt, candidate, timeout_ms, &count)
                    : probe_all(rt, timeout_ms, &count);
    if (!err && out_count)
        *out_count = (int)count;
    return err;
}

/* ---- shared objects other than plugins, under the rules for plugins ------------------------- */

#define ORIGIN "ferry_runtime_load_library"

/* Examines a file, and returns its line; NULL without memory. */
static struct ferry__candidate *examined(ferry_runtime *rt, const char *path)
{
    struct ferry__candidate *candidate = NULL;

    ferry__runtime_lock(rt);
    if (!rt->libraries)
        rt->libraries = ferry__loader_start();
    if (rt->libraries && ferry__loader_add(rt->libraries, path, ORIGIN, &candidate))
        candidate = NULL;
    ferry__runtime_unlock(rt);
    return candidate;
}

int ferry_runtime_load_library(ferry_runtime *rt, const char *path, const char *symbol,
                               const void **out)
{
    struct ferry__candidate *candidate;
    struct ferry__refusal refusal;
    const void *found = NULL;

    if (!rt || !path || !symbol || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_load_library: an argument is NULL");
    candidate = examined(rt, path);
    if (!candidate)
        return FERRY_ENOMEM;
    if (candidate->code)
        return ferry__runtime_refused(candidate);
    if (ferry__loader_symbol(candidate, symbol, &found, &refusal)) {
        ferry__runtime_lock(rt);
        ferry__loader_report(rt->libraries, candidate, FERRY__STAGE_DLOPEN, refusal.code,
                             refusal.reason, refusal.hint);
        ferry__runtime_unlock(rt);
        return ferry__runtime_refused(candidate);
    }
    *out = found;
    return 0;
}

const char *ferry_runtime_layer_libraries(const ferry_runtime *rt)
{
    return rt && rt->conf->layers.text ? rt->conf->layers.text : "";
}
