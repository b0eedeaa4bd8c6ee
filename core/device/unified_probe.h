/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CORE_UNIFIED_PROBE_H
#define FERRY_CORE_UNIFIED_PROBE_H

#include "core/device/device.h"

/*
 * Whether memory shared with a device that claims to be unified is coherent, tried both ways. Says
 * why not in the log; a probe that cannot run counts as failed.
 */
bool ferry__probe_unified(ferry_device *dev);

#endif
