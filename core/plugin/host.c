/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/host.h"
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct {
    const struct ferry__plugin *plugin; /* whose entry runs on this thread; NULL: not known */
    char said[1024];
    int has_said;
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

/* Where the option that a message speaks of was set; NULL if it speaks of none. */
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

/* A plugin knows what is wrong with an option, ferry where it was set. */
static int host_error(int code, const char *fmt, ...)
{
    char text[512];
    const char *origin;
    va_list args;

    va_start(args, fmt);
    mine.has_said = vsnprintf(text, sizeof(text), fmt, args) > 0;
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

const ferry_host ferry__host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
};
