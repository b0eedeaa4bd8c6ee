/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin without ferry: its binary, a host table of the test's own, and common functions of all
 * plugin tests.
 */
#ifndef PLUGIN_DRIVER_H
#define PLUGIN_DRIVER_H

#include <ferry/plugin.h>

#include "ferry-test.h"

#include <stdbool.h>

/*
 * Opens the table of backends/NAME, or of a file of the build folder if the name has a slash;
 * `out_library` may be NULL. Returns NULL, and skips the case, if it was not built.
 */
const ferry_plugin_ops *driver_load(const char *name, void **out_library);

/*
 * Options for devices opened from here on; the latest value of a key counts. NULL: as if never set.
 */
void driver_set(const char *key, const char *value);
/* Clears the options and the recorded messages. */
void driver_reset(void);

/* The latest error of this thread, and the latest line of the log. */
const char *driver_error(void);
const char *driver_logged(void);
/* Whether `result` is `code`, was reported last, and its text contains `part`; clears the code. */
bool driver_failed(int result, int code, const char *part);

ferry_ref driver_ref(void *handle, uint64_t offset);
ferry_cref driver_cref(const void *handle, uint64_t offset);

ferry_plugin_counters driver_count(const ferry_plugin_ops *ops, void *dev);
/* Closes the device, with a check that nothing of it is left. */
void driver_close(const ferry_plugin_ops *ops, void *dev);

/* Synchronous copies on the default queue. */
void driver_put(const ferry_plugin_ops *ops, void *dev, ferry_ref to, const void *bytes,
                uint64_t size);
void driver_get(const ferry_plugin_ops *ops, void *dev, ferry_cref from, void *bytes,
                uint64_t size);

#endif
