/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of services that plugins get, and what they said through it.
 */
#ifndef FERRY_CORE_HOST_H
#define FERRY_CORE_HOST_H

#include "core/plugin/plugin.h"

extern const ferry_host ferry__host;

/*
 * Whose option() calls and log lines those of this thread are, from here to the call with NULL.
 * Needed around ferry_plugin_open, device_count, properties, device_open and adopt.
 */
void ferry__host_enter(const struct ferry__plugin *plugin);
void ferry__host_leave(void);

/* What the plugin said on this thread since the last call, and forgets it; "" if nothing. */
const char *ferry__host_take_error(void);

/*
 * Value of `option.<key>` for that plugin: API over environment over files. NULL if none. Lives as
 * long as the process.
 */
const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key);

#endif
