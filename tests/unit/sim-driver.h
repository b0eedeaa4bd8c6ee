/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sim plugin without ferry, and its control.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "backends/sim/control.h"
#include "plugin-driver.h"

/*
 * The plugin's table, and its control. NULL, and the case is skipped, if sim was not built. Loading
 * clears options.
 */
extern const ferry_plugin_ops *sim;
extern const struct sim_control *control;
bool sim_load(void);

/* Opens a device; closes it, with a check that nothing of it is left. */
void *sim_open(uint32_t index);
void sim_close(void *dev);

/* A block. A failure fails the test. */
void *sim_block(void *dev, uint64_t bytes, uint32_t flags);
void sim_free_block(void *dev, void *handle);

/* Synchronous copies on the default queue. */
void sim_put(void *dev, void *handle, const void *bytes, uint64_t size);
void sim_get(void *dev, const void *handle, void *bytes, uint64_t size);

/* Whether `touch(argument)`, in a process of its own, fails or crashes. */
bool sim_crashes(void (*touch)(void *argument), void *argument);

#endif
