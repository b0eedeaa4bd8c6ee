/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/cache_folder.h"
#include "core/base/env.h"
#include "core/base/permit.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder that everybody's caches are in; false where there is none. */
static bool find_top(char top[PATH_MAX])
{
    const char *cache = ferry__env_get("XDG_CACHE_HOME"), *home = ferry__env_get("HOME");

    if (cache && cache[0] == '/')
        return snprintf(top, PATH_MAX, "%s", cache) < PATH_MAX;
    return home && home[0] == '/' && snprintf(top, PATH_MAX, "%s/.cache", home) < PATH_MAX;
}

/* Makes one more folder at the end of a path, and looks whose it is. */
static int add(char path[PATH_MAX], const char *name, char *why, size_t why_size)
{
    size_t length = strlen(path);
    struct stat st;

    if (snprintf(path + length, PATH_MAX - length, "/%s", name) >= (int)(PATH_MAX - length)) {
        snprintf(why, why_size, "its path is too long");
    } else if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_size, "%.400s: %s", path, strerror(errno));
    } else if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
               (st.st_mode & (S_IWGRP | S_IWOTH))) {
        snprintf(why, why_size, "%.400s is no folder that only the user may write", path);
    } else {
        return 0;
    }
    return FERRY_EUNSUPPORTED;
}

int ferry__cache_folder(const char *name, char *out, uint64_t size, char *why, size_t why_size)
{
    char path[PATH_MAX], loose[PATH_MAX];
    struct ferry__refusal refusal;
    struct ferry__trust trust;
    int err;

    if (!find_top(path)) {
        snprintf(why, why_size, "neither XDG_CACHE_HOME nor HOME says where");
        return FERRY_EUNSUPPORTED;
    }
    mkdir(path, 0700); /* as the specification of XDG_CACHE_HOME wants it */
    ferry__trust_of_process(&trust);
    if (ferry__permit_folder(path, &trust, loose, &refusal)) {
        snprintf(why, why_size, "%.500s", refusal.reason);
        return FERRY_EUNSUPPORTED;
    }
    err = add(path, "ferry", why, why_size);
    if (!err)
        err = add(path, name, why, why_size);
    if (err)
        return err;
    if (strlen(path) >= size) {
        snprintf(why, why_size, "%zu bytes are wanted for its path", strlen(path) + 1);
        return FERRY_EINVAL;
    }
    memcpy(out, path, strlen(path) + 1);
    return 0;
}
