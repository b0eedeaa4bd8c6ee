/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a plugin was told, against the table of options that it has.
 */
#ifndef FERRY_CORE_OPTIONS_H
#define FERRY_CORE_OPTIONS_H

#include "core/conf/conf.h"
#include "core/plugin/registry.h"

#include <ferry/runtime.h>

/* Copies what a section says (NULL: nothing). NULL without memory. */
struct ferry__settings *ferry__settings_create(const struct ferry__section *section);

/*
 * Logs a warning for each option that the plugin does not have, or whose value is not of its type;
 * the plugin has the last word.
 */
void ferry__options_check(const struct ferry__plugin *plugin);

/* Option `index` of the plugin's table in `out`, whatever size its entries have; false past it. */
bool ferry__options_at(const struct ferry__plugin *plugin, uint32_t index,
                       ferry_plugin_option *out);

/*
 * Option `index` with its value in force, the core's keys of any plugin first; false past the
 * last. Strings live as long as the process.
 */
bool ferry__options_describe(const struct ferry__plugin *plugin, uint32_t index,
                             ferry_option_info *out);

#endif
