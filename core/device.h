/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device: the adopted table of its plugin, its default queue, its counters.
 */
#ifndef FERRY_CORE_DEVICE_H
#define FERRY_CORE_DEVICE_H

#include <ferry/device.h>
#include <ferry/queue.h>
#include "registry.h"

/*
 * A device of `plugin`, described but not opened. One reference, the caller's. Fails with the
 * plugin's error from properties, FERRY_ENOMEM.
 */
int ferry__device_create(const struct ferry__plugin *plugin, uint32_t index, bool strict,
                         ferry_device **out);

/*
 * A device around the program's own objects, open. Name: "plugin:index", or "plugin:adopted" where
 * the plugin knows none.
 */
int ferry__device_adopt(const struct ferry__plugin *plugin, const ferry_native *items, size_t n,
                        bool strict, ferry_device **out);

/*
 * Opens the device if it is not open: context, slot, default queue, probe. Any thread; cheap when
 * open.
 */
int ferry__device_open(ferry_device *dev);

/*
 * References: the runtime holds one per device; memories, queues and events one each. The last one
 * closes the device.
 */
ferry_device *ferry__device_retain(ferry_device *dev);
void ferry__device_release(ferry_device *dev);

#endif
