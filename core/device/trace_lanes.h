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
 * Called before and after a copy is submitted to the queue, in the same thread. begin returns a
 * section, or NULL without a file or if the queue cannot measure time.
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
 * Records a copy, in host time since `start`. `memory` (may be NULL) is the address of the memory
 * that was copied. Takes over the section, which may be NULL; a copy that was not submitted has no
 * slice.
 */
void ferry__lane_write_copy(const struct ferry__trace_copy *copy, ferry_queue *q, double start,
                            const void *memory, void *section, bool sent);

static inline void ferry__lane_copy(const struct ferry__trace_copy *copy, ferry_queue *q,
                                    double start, const void *memory, void *section, bool sent)
{
    if (ferry__trace_is_on())
        ferry__lane_write_copy(copy, q, start, memory, section, sent);
}

/* Forgets a memory, whose address may be used by another memory from now on. */
void ferry__lane_forget_memory(const void *memory);

/*
 * Writes the slices whose work is done; with a device that is closing, also frees its other slices.
 */
void ferry__lanes_flush(void);
void ferry__lanes_close(const ferry_device *dev);

#endif
