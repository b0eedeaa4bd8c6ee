/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace's lanes in device time: copies, and the slices of <ferry/profile.h>, as the device
 * executed them, and arrows from a copy to the slice that reads its bytes. A section's times are
 * read once its work is done, so that its slice is written later than those of the host.
 */
#ifndef FERRY_CORE_TRACE_LANES_H
#define FERRY_CORE_TRACE_LANES_H

#include "core/device/trace.h"

/*
 * Around a copy that is submitted to the queue: a section, NULL without a file or if the queue
 * cannot measure. begin before the work, end after it, in the same thread.
 */
void *ferry__lane_begin_section(ferry_queue *q);
void ferry__lane_end_section(ferry_queue *q, void *section);

static inline void *ferry__lane_begin(ferry_queue *q)
{
    return ferry__trace_is_on() ? ferry__lane_begin_section(q) : NULL;
}

static inline void ferry__lane_end(ferry_queue *q, void *section)
{
    if (section)
        ferry__lane_end_section(q, section);
}

/*
 * A copy was traced, in host time since `start`. `memory` (may be NULL) is the one copied, by its
 * address. Takes the section, which may be NULL; a copy that was not sent has no slice.
 */
void ferry__lane_write_copy(const struct ferry__trace_copy *copy, ferry_queue *q, double start,
                            const void *memory, void *section, bool sent);

static inline void ferry__lane_copy(const struct ferry__trace_copy *copy, ferry_queue *q,
                                    double start, const void *memory, void *section, bool sent)
{
    if (ferry__trace_is_on())
        ferry__lane_write_copy(copy, q, start, memory, section, sent);
}

/* A memory's address is used again from now on. */
void ferry__lane_forget_memory(const void *memory);

/* Writes the slices whose work is done; for a device that closes, and forgets its others. */
void ferry__lanes_flush(void);
void ferry__lanes_close(const ferry_device *dev);

#endif
