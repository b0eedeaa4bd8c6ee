/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FERRY_TRACE: one Chrome trace event a copy, map, allocation, fallback, eviction; and the same in
 * words at debug level.
 */
#ifndef FERRY_CORE_TRACE_H
#define FERRY_CORE_TRACE_H

#include "device.h"

enum ferry__reason {
    FERRY__READ_MISS,
    FERRY__WRITE_MISS,
    FERRY__PREFETCH,
    FERRY__EVICT,
    FERRY__STAGING
};

/* Whether anybody wants events; cheap. */
bool ferry__trace_on(void);

/* Microseconds for the start of an event; 0 when off. */
double ferry__trace_now(void);

/*
 * "h2d", "d2h", "d2d", "map", "unmap": bytes of `name` (may be NULL) moved on `q`, since `start`.
 */
void ferry__trace_copy(const char *what, const char *name, uint64_t bytes,
                       enum ferry__reason reason, const ferry_queue *q, double start);

/* "alloc", "free", "pool hit", "fallback", "evict" … on a device. */
void ferry__trace_event(const char *what, const char *name, uint64_t bytes, const ferry_device *dev,
                        double start);

#endif
