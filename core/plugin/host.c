/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/host.h"

#include "common/status.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/permit.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local struct {
    const struct ferry__plugin *plugin; /* the plugin whose entry runs in this thread; NULL:
                                         * unknown */
    char said[1024];
    int has_said;
    int said_of; /* the code that was passed with the message */
} mine;

void ferry__host_enter(const struct ferry__plugin *plugin)
{
    mine.plugin = plugin;
}

void ferry__host_leave(void)
{
    mine.plugin = NULL;
}

const char *ferry__host_take_error(void)
{
    const char *said = mine.has_said ? mine.said : "";

    mine.has_said = 0;
    return said;
}

bool ferry__host_has_said(void)
{
    return mine.has_said;
}

int ferry__host_take_failure(int result, char *out, size_t size)
{
    bool is_older = mine.said_of == FERRY_EUNSUPPORTED && result != FERRY_EUNSUPPORTED;
    const char *said = ferry__host_take_error();
    int code = ferry__is_failure_code(result) ? result : FERRY_EPLUGIN;

    if (said[0] && !is_older)
        snprintf(out, size, "%s", said);
    else if (code == result)
        snprintf(out, size, "%s", ferry_strerror(code));
    else
        snprintf(out, size, "it returned %d, which is not a status code", result);
    return code;
}

int ferry__host_blame(const char *what)
{
    snprintf(mine.said, sizeof(mine.said), "%s", what);
    mine.has_said = 1;
    mine.said_of = FERRY_EPLUGIN;
    return FERRY_EPLUGIN;
}

/* The place where the option that a message names was set; NULL if the message names no option. */
static const char *origin_of_option(const char *text)
{
    const struct ferry__option *option = mine.plugin ? mine.plugin->options : NULL;

    for (; option; option = option->next) {
        size_t length = strlen(option->key);
        const char *at = strstr(text, "option.");

        if (at && strncmp(at + 7, option->key, length) == 0 && at[7 + length] == ' ')
            return option->origin;
    }
    return NULL;
}

/* Adds the place where the option was set to the plugin's message about it. */
static int host_error(int code, const char *fmt, ...)
{
    char text[512];
    const char *origin;
    va_list args;

    va_start(args, fmt);
    mine.has_said = vsnprintf(text, sizeof(text), fmt, args) > 0;
    mine.said_of = code;
    va_end(args);
    origin = mine.has_said && code == FERRY_ECONF ? origin_of_option(text) : NULL;
    snprintf(mine.said, sizeof(mine.said), "%s%s%s", origin ? origin : "", origin ? ": " : "",
             mine.has_said ? text : "");
    return code;
}

static void host_log(int level, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    if (!ferry__log_enabled(level))
        return;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    if (mine.plugin)
        ferry__log(level, "%s: %s", mine.plugin->name, text);
    else
        ferry__log(level, "%s", text);
}

const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key)
{
    for (const struct ferry__option *option = plugin->options; option; option = option->next)
        if (strcmp(option->key, key) == 0)
            return option->value;
    for (const struct ferry__option *core = plugin->keys; core; core = core->next)
        if (strcmp(core->key, key) == 0)
            return core->value;
    return NULL;
}

static const char *host_option(const char *key)
{
    return mine.plugin && key ? ferry__plugin_option(mine.plugin, key) : NULL;
}

/* ---- options by their types ----------------------------------------------------------------- */

static int refuse(const char *key, const char *text, const char *wanted)
{
    return host_error(FERRY_ECONF, "option.%s = %.64s: not %s", key, text, wanted);
}

static int host_integer(const char *key, int64_t least, int64_t most, int64_t *out)
{
    const char *text = host_option(key);
    char wanted[96], *end;
    long long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno == 0 && end != text && !*end && value >= least && value <= most) {
        *out = value;
        return 0;
    }
    snprintf(wanted, sizeof(wanted), "a whole number from %" PRId64 " to %" PRId64, least, most);
    return refuse(key, text, wanted);
}

static int host_real(const char *key, double least, double most, double *out)
{
    const char *text = host_option(key);
    char wanted[96], from[32], to[32];
    double value;

    if (!text)
        return 0;
    if (ferry__text_real(text, &value) && value >= least && value <= most) {
        *out = value;
        return 0;
    }
    ferry__text_put_real(least, from, sizeof(from));
    ferry__text_put_real(most, to, sizeof(to));
    snprintf(wanted, sizeof(wanted), "a number from %s to %s", from, to);
    return refuse(key, text, wanted);
}

static int host_boolean(const char *key, uint32_t *out)
{
    const char *text = host_option(key);
    bool is;

    if (!text)
        return 0;
    if (!ferry__text_bool(text, &is))
        return refuse(key, text, "yes or no");
    *out = is;
    return 0;
}

static int host_size(const char *key, uint64_t least, uint64_t most, uint64_t *out)
{
    const char *text = host_option(key);
    char wanted[128];
    uint64_t value;

    if (!text)
        return 0;
    if (ferry__text_size(text, &value) && value >= least && value <= most) {
        *out = value;
        return 0;
    }
    snprintf(wanted, sizeof(wanted),
             "a size (as in 4096, 512MiB, 4GiB) from %" PRIu64 " to %" PRIu64 " bytes", least,
             most);
    return refuse(key, text, wanted);
}

static int host_enum(const char *key, const char *words, uint32_t *out)
{
    const char *text = host_option(key);
    int word = text ? ferry__text_word(text, words) : 0;
    char wanted[160];

    if (!text)
        return 0;
    if (word < 0) {
        snprintf(wanted, sizeof(wanted), "one of %s", words);
        return refuse(key, text, wanted);
    }
    *out = (uint32_t)word;
    return 0;
}

/* Finds the folder of the user's caches; false if the environment names no folder. */
static bool find_top(char top[PATH_MAX])
{
    const char *cache = ferry__env_get("XDG_CACHE_HOME"), *home = ferry__env_get("HOME");

    if (cache && cache[0] == '/')
        return snprintf(top, PATH_MAX, "%s", cache) < PATH_MAX;
    return home && home[0] == '/' && snprintf(top, PATH_MAX, "%s/.cache", home) < PATH_MAX;
}

/* Creates one more folder at the end of a path, and checks its owner. */
static int add_folder(char path[PATH_MAX], const char *name, char *why, size_t why_size)
{
    size_t length = strlen(path);
    struct stat st;

    if (snprintf(path + length, PATH_MAX - length, "/%s", name) >= (int)(PATH_MAX - length)) {
        snprintf(why, why_size, "its path is too long");
    } else if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_size, "%.400s: %s", path, strerror(errno));
    } else if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
               (st.st_mode & (S_IWGRP | S_IWOTH))) {
        snprintf(why, why_size, "%.400s is not a folder that only the user may write", path);
    } else {
        return 0;
    }
    return FERRY_EUNSUPPORTED;
}

/*
 * The path of ferry/NAME in $XDG_CACHE_HOME or ~/.cache, which is created. FERRY_EUNSUPPORTED if no
 * cache folder can be used, FERRY_EINVAL if `size` is too small, with the reason in `why`.
 */
static int find_cache_folder(const char *name, char *out, uint64_t size, char *why, size_t why_size)
{
    char path[PATH_MAX], loose[PATH_MAX];
    struct ferry__refusal refusal;
    struct ferry__trust trust;
    int err;

    if (!find_top(path)) {
        snprintf(why, why_size, "neither XDG_CACHE_HOME nor HOME names a folder");
        return FERRY_EUNSUPPORTED;
    }
    mkdir(path, 0700); /* the mode that the specification of XDG_CACHE_HOME requires */
    ferry__trust_of_process(&trust);
    if (ferry__permit_folder(path, &trust, loose, &refusal)) {
        snprintf(why, why_size, "%.500s", refusal.reason);
        return FERRY_EUNSUPPORTED;
    }
    err = add_folder(path, "ferry", why, why_size);
    if (!err)
        err = add_folder(path, name, why, why_size);
    if (err)
        return err;
    if (strlen(path) >= size) {
        snprintf(why, why_size, "its path needs %zu bytes", strlen(path) + 1);
        return FERRY_EINVAL;
    }
    memcpy(out, path, strlen(path) + 1);
    return 0;
}

static int host_cache_folder(char *out, uint64_t size)
{
    char why[512];
    int err;

    if (!mine.plugin)
        return host_error(FERRY_EINVAL, "cache_folder: not available in this entry");
    err = find_cache_folder(mine.plugin->name, out, size, why, sizeof(why));
    return err ? host_error(err, "cache_folder: %s", why) : 0;
}

/* NULL until a device is open; a call before that returns an error */
static _Atomic(ferry__host_scratch) scratch;

void ferry__host_set_scratch(ferry__host_scratch fn)
{
    atomic_store_explicit(&scratch, fn, memory_order_release);
}

static int host_scratch(uint64_t bytes, void **out_handle)
{
    ferry__host_scratch fn = atomic_load_explicit(&scratch, memory_order_acquire);
    const char *why = "no device is open";
    int err = fn ? fn(bytes, out_handle, &why) : FERRY_EINVAL;

    return err ? host_error(err, "scratch: %s", why) : 0;
}

const ferry_host ferry__host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
    .option_integer = host_integer,
    .option_real = host_real,
    .option_boolean = host_boolean,
    .option_size = host_size,
    .option_enum = host_enum,
    .cache_folder = host_cache_folder,
    .scratch = host_scratch,
};
