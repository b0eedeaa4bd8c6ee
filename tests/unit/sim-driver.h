/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sim plugin without ferry: its binary, a host table of the test's own, and what the tests of
 * the plugin do all the time.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <ferry/plugin.h>

#include "backends/sim/control.h"
#include "ferry-test.h"

#include <stdbool.h>

/* The plugin's table, and its control. NULL, and the case is skipped, where sim was not built. */
extern const ferry_plugin_ops *sim;
extern const struct sim_control *control;
bool sim_load(void);

/* Options for the devices that are opened from here on; sim_load forgets those before. */
void sim_set(const char *key, const char *value);

/* A device, opened; and closed, with a check that nothing of it is left. */
void *sim_open(uint32_t index);
void sim_close(void *dev);

/* The latest error of this thread, and the latest line of the log. */
const char *sim_error(void);
const char *sim_logged(void);
/* Whether `code` is what the latest error was, and whether its text has `part`. */
bool sim_failed(int result, int code, const char *part);

/* A block; a reference to its start; its counters. Failure is the test's. */
void *sim_block(void *dev, uint64_t bytes, uint32_t flags);
void sim_free_block(void *dev, void *handle);
ferry_ref sim_ref(void *handle, uint64_t offset);
ferry_cref sim_cref(const void *handle, uint64_t offset);
ferry_plugin_counters sim_count(void *dev);

/* Copies on the default queue, waited for. */
void sim_put(void *dev, void *handle, const void *bytes, uint64_t size);
void sim_get(void *dev, const void *handle, void *bytes, uint64_t size);

/* Whether `touch(argument)`, in a process of its own, ends in anything but success. */
bool sim_crashes(void (*touch)(void *argument), void *argument);

#endif
