/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of services for plugins, and the messages that they passed through it. */
#ifndef FERRY_CORE_HOST_H
#define FERRY_CORE_HOST_H

#include "core/plugin/plugin.h"

#include <stdbool.h>
#include <stddef.h>

extern const ferry_host ferry__host;

/*
 * Attributes option() calls and log lines of this thread to the plugin, until this function is
 * called with NULL. Required around ferry_plugin_open, device_count, properties, device_open and
 * adopt.
 */
void ferry__host_enter(const struct ferry__plugin *plugin);
void ferry__host_leave(void);

/*
 * The function that serves host->scratch. Returns a code, and the message for the plugin in
 * *out_why. The room that owns the memory sets it.
 */
typedef int (*ferry__host_scratch)(uint64_t bytes, void **out, const char **out_why);
void ferry__host_set_scratch(ferry__host_scratch fn);

/*
 * Returns and clears the plugin's message on this thread since the last call; "" if there was none.
 */
const char *ferry__host_take_error(void);

/* Whether there is such a message. */
bool ferry__host_has_said(void);

/*
 * For an entry that returned `result`, not 0: returns the code, FERRY_EPLUGIN if the result is not
 * a negative status code; `out` receives the plugin's message, or else a message about the result.
 * A message of an entry before, set with FERRY_EUNSUPPORTED and followed by a fallback, is dropped.
 */
int ferry__host_take_failure(int result, char *out, size_t size);

/* For an entry that broke its contract in another way: records what it did; FERRY_EPLUGIN. */
int ferry__host_blame(const char *what);

/*
 * The value of `option.<key>` for that plugin: the API's value precedes the environment's, which
 * precedes the files'. NULL if none of them sets the option. Lives as long as the process.
 */
const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key);

#endif
