/* SPDX-License-Identifier: BSD-2-Clause */
/* Creation, opening and destruction of devices. */
#ifndef FERRY_CORE_DEVICE_OPEN_H
#define FERRY_CORE_DEVICE_OPEN_H

#include "core/device/device.h"

/*
 * Returns the device of that index, described but not opened: the existing one, or a new one. *out
 * is one reference, the caller's. Devices that treat fallbacks as errors are distinct from those
 * that do not. Fails with the plugin's error from properties, FERRY_ENOMEM.
 */
int ferry__device_get(const struct ferry__plugin *plugin, uint32_t index, bool strict,
                      ferry_device **out);

/* Creates an open device from the program's own objects, with one reference, the caller's. */
int ferry__device_adopt(const struct ferry__plugin *plugin, const ferry_native_object *items,
                        size_t n, bool strict, ferry_device **out);

#endif
