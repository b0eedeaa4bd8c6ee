/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared objects that are no plugins, under the rules for plugins. */
#include "config.h"

#include "core/runtime/runtime.h"

#include "core/base/status.h"

#define ORIGIN "ferry_runtime_library"

/* The file's line, examined; NULL without memory. */
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

int ferry_runtime_library(ferry_runtime *rt, const char *path, const char *symbol, const void **out)
{
    struct ferry__candidate *candidate;
    struct ferry__refusal refusal;
    const void *found = NULL;

    if (!rt || !path || !symbol || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_library: an argument is NULL");
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

const char *ferry_runtime_layers(const ferry_runtime *rt)
{
    return rt && rt->conf->layers.text ? rt->conf->layers.text : "";
}
