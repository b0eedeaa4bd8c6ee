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
    const struct ferry__option *keys; /* pool_limit and budget, with the places where they were
                                       * set */
    uint64_t pool_limit;              /* the maximum number of bytes that its pools cache;
                                       * UINT64_MAX: not set */
    uint64_t budget;                  /* the budget in bytes; 0: none */
    bool validate;                    /* whether calls of the plugin are checked against the
                                       * rules */
    /* The settings of an earlier open that failed: the plugin may have kept a string of them. */
    struct ferry__settings *former;
};

/* Copies the settings of the plugin of that name. NULL if memory is short. */
struct ferry__settings *ferry__settings_create(const struct ferry__conf *conf, const char *name);
void ferry__settings_destroy(struct ferry__settings *settings);

/*
 * Checks the settings before the plugin is called. An option whose value does not have its type is
 * refused with FERRY_ECONF and the place where it was set; an option that the plugin lacks is
 * logged as a warning.
 */
int ferry__options_check(const struct ferry__plugin *plugin, struct ferry__refusal *refusal);

/*
 * Copies option `index` of the plugin's table to `out`, whatever size its entries have; false
 * beyond the last.
 */
bool ferry__options_at(const struct ferry__plugin *plugin, uint32_t index,
                       ferry_plugin_option *out);

/*
 * Describes option `index` with its current value. The core's keys, which every plugin has, come
 * first; false beyond the last. Strings live as long as the process.
 */
bool ferry__options_describe(const struct ferry__plugin *plugin, uint32_t index,
                             ferry_runtime_option_info *out);

#endif
