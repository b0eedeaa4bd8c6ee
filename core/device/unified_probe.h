/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CORE_UNIFIED_PROBE_H
#define FERRY_CORE_UNIFIED_PROBE_H

#include "core/device/device.h"

/*
 * Tries, both ways, whether memory shared with a device that claims to be unified is coherent, and
 * whether it is faster than copies; the log says why it is not, or why that cannot be tried. Fails
 * only where the device is lost.
 */
int ferry__unified_probe(ferry_device *dev, bool *out_coherent);

#endif
