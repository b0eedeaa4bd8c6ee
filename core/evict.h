/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making room on a device: replicas of memories under wont_use go, clean copies first, dirty ones
 * after they were written back.
 */
#ifndef FERRY_CORE_EVICT_H
#define FERRY_CORE_EVICT_H

#include "memory.h"

/*
 * Tries to free `bytes` on the device; returns the bytes freed. No lock of the pool is held; a
 * memory's may be, which is then skipped.
 */
uint64_t ferry__evict(ferry_device *dev, uint64_t bytes);

#endif
