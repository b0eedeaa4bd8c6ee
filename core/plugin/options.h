/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a plugin's settings against its table of options. */
#ifndef FERRY_CORE_OPTIONS_H
#define FERRY_CORE_OPTIONS_H

#include "core/conf/conf.h"
#include "core/plugin/plugin.h"
#include "core/base/status.h"

#include <ferry/runtime.h>

/* A plugin's settings, as they were when it was opened. */
struct ferry__settings {
    const struct ferry__option *options;
    const struct ferry__option *keys; /* pool_limit, budget, where they were set */
    uint64_t pool_limit;              /* bytes that its pools may cache; UINT64_MAX: not set */
    uint64_t budget;                  /* bytes; 0: none */
    bool validate;                    /* the rules of plugins are checked */
    /* The settings of an earlier open that failed: the plugin may have kept a string of them. */
    struct ferry__settings *former;
};

/* Copies the settings of the plugin of that name. NULL if memory is short. */
struct ferry__settings *ferry__settings_create(const struct ferry__conf *conf, const char *name);
void ferry__settings_destroy(struct ferry__settings *settings);

/*
 * Refuses an option whose value is not of its type, FERRY_ECONF with where it was set, before the
 * plugin is asked anything; logs a warning for each that the plugin does not have.
 */
int ferry__options_check(const struct ferry__plugin *plugin, struct ferry__refusal *refusal);

/* Option `index` of the plugin's table in `out`, whatever size its entries have; false past it. */
bool ferry__options_at(const struct ferry__plugin *plugin, uint32_t index,
                       ferry_plugin_option *out);

/*
 * Option `index` with its value in force, the core's keys of any plugin first; false past the
 * last. Strings live as long as the process.
 */
bool ferry__options_describe(const struct ferry__plugin *plugin, uint32_t index,
                             ferry_runtime_option_info *out);

#endif
