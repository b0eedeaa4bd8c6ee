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

/*
 * Who serves host->scratch: a code, and in *out_why what a plugin is told of one. Set by the room that
 * has the memory.
 */
typedef int (*ferry__host_scratch)(uint64_t bytes, void **out, const char **out_why);
void ferry__host_set_scratch(ferry__host_scratch fn);

/* What the plugin said on this thread since the last call, and forgets it; "" if nothing. */
const char *ferry__host_take_error(void);

/*
 * Value of `option.<key>` for that plugin: API over environment over files. NULL if none. Lives as
 * long as the process.
 */
const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key);

#endif
