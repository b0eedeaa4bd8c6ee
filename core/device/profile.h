/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues that measure their work by "ferry.profile/1", and sections of that work. The public half
 * is <ferry/profile.h>.
 */
#ifndef FERRY_CORE_PROFILE_H
#define FERRY_CORE_PROFILE_H

#include "core/device/queue.h"

#include <ferry/profile.h>

/* Frees the device's clock; called before the device is closed. */
void ferry__profile_forget(ferry_device *dev);

/*
 * Begins a section without a span, for the trace, on a profiled queue. Returns the plugin's handle,
 * or NULL after a failure. The caller holds the queue's lock.
 */
void *ferry__profile_begin(ferry_queue *q);
void ferry__profile_end(ferry_queue *q, void *section);
/* As ferry_span_read, but records no error; a failure counts as done and empty. */
int ferry__profile_read(ferry_device *dev, void *section, ferry_span_times *out);
void ferry__profile_destroy(ferry_device *dev, void *section);

#endif
