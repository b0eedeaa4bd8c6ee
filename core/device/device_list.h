/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lists of devices: the living ones, and the open ones by slot. They hold no references. Their
 * lock is held briefly, and never during a call of a plugin.
 */
#ifndef FERRY_CORE_DEVICE_LIST_H
#define FERRY_CORE_DEVICE_LIST_H

#include "core/device/device.h"

/*
 * The living device of that plugin and index, with one more reference; NULL if there is no such
 * device.
 */
ferry_device *ferry__device_list_find(const struct ferry__plugin *plugin, uint32_t index,
                                      bool strict);

/*
 * Adds a device to the list. If another thread has added an equal one meanwhile, returns that one
 * with one more reference, and adds nothing.
 */
ferry_device *ferry__device_list_add(ferry_device *dev);

/* Removes a device whose last reference is gone from the list. An unlisted device is accepted. */
void ferry__device_list_forget(const ferry_device *dev);

/* A slot for a device that is being opened, in dev->slot. FERRY_ENODEV: all are taken. */
int ferry__device_list_take_slot(ferry_device *dev);
void ferry__device_list_give_slot(ferry_device *dev);

/*
 * The process is exiting: marks the plugin's open devices as unusable, as after fork, with an error
 * that gives the reason.
 */
void ferry__device_list_end(const struct ferry__plugin *plugin);

/* The open device of a host-memory plugin, retained; NULL if there is no such device. */
ferry_device *ferry__device_host_memory(void);

#endif
