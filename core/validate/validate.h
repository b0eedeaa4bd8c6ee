/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the checks of the rules between ferry and a plugin. */
#ifndef FERRY_CORE_VALIDATE_H
#define FERRY_CORE_VALIDATE_H

#include <ferry/plugin.h>
#include <stdbool.h>

/*
 * Replaces the entries of an adopted table by entries that check and call them. `name` is the
 * plugin's and lives as long as the process; `synchronous`: the plugin has no events. To be called
 * once per table, before a device is open. FERRY_ENOMEM; the table is then unchanged.
 */
int ferry__validate_wrap(const char *name, bool synchronous, ferry_plugin_ops *ops);

#endif
