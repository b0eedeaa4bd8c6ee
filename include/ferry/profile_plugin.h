/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file profile_plugin.h
 * "ferry.profile/1": the table of a plugin that measures work on the device's clock, which it may
 * return from its `extension` entry. Since ABI 1.2.
 *
 * The rules of plugin.h for codes, host->error, threads and queues apply: start, stop, begin and
 * end take a queue, and ferry calls no other entry of that queue meanwhile, the event entries
 * included. The others may be called by any thread at any time.
 *
 * ferry profiles a queue between start and stop. A section is the work that is submitted to a
 * profiled queue between begin and end. Sections of one queue may nest and overlap. ferry ends each
 * section, on the queue on which it began, before it stops or destroys the queue, and destroys each
 * section, possibly after its queue, before it closes the device. A program that never profiles
 * calls no entry of this table: a plugin must not make other work slower for offering it.
 *
 * The clock of a device runs at a fixed frequency, never backward, and never overflows 64 bits. All
 * queues of a device share it. Its ticks have a meaning within one opening of the device only.
 */
#ifndef FERRY_PROFILE_PLUGIN_H
#define FERRY_PROFILE_PLUGIN_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/** The name of this table for the `extension` entry. */
#define FERRY_PROFILE_EXTENSION "ferry.profile/1"

/**
 * The device's clock, and one moment on it and on the host's clock. ferry sets struct_size and
 * zeroes the rest before the call.
 */
typedef struct ferry_profile_clock {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t frequency;   /* ticks a second; not 0 */
    uint64_t resolution;  /* the smallest step of a stamp, in ticks; not 0 */
    uint64_t ticks;       /* the moment on the device's clock */
    uint64_t host_ns;     /* the same moment on CLOCK_MONOTONIC, in nanoseconds */
    uint64_t uncertainty; /* nanoseconds by which host_ns may be wrong, in either direction */
} ferry_profile_clock;

/** Flag of ferry_profile_times: the section has no work; begin and end are 0. */
#define FERRY_PROFILE_EMPTY 1u

/** When a section ran. ferry sets struct_size and zeroes the rest before the call. */
typedef struct ferry_profile_times {
    uint32_t struct_size;
    uint32_t flags; /* FERRY_PROFILE_EMPTY */
    /**
     * When the device began the first work of the section and ended the last, in ticks: begin ≤
     * end, and between the two the time may include pauses in which the device waited for the host.
     * Sections of one queue that do not overlap are in their order: the end of one is not after the
     * begin of the next [rule 71].
     */
    uint64_t begin, end;
} ferry_profile_times;

/** The table: static const, valid for the life of the process. Every entry must be present. */
typedef struct ferry_profile_table {
    uint32_t struct_size;
    uint32_t reserved;

    /**
     * Describes the clock, with a moment of this call. ferry calls it before the first start, and
     * again from time to time, since two clocks drift. frequency and resolution never change
     * [rule 69]. May block, but not until work of other calls is done. Callable from any thread.
     */
    int (*clock)(void *dev, ferry_profile_clock *out);
    /**
     * Makes the queue (NULL: the default queue) measure its work. May block until the queue's work
     * so far is done. FERRY_EUNSUPPORTED for a queue that cannot, such as a vendor's object of the
     * program that was made without; it then works as before. Not called for a profiled queue.
     */
    int (*start)(void *dev, void *queue);
    /** Ends profiling; the queue works as before start. Sections that ended stay readable. */
    int (*stop)(void *dev, void *queue);
    /** Begins a section of a profiled queue, and stores its handle, not NULL. Does not block. */
    int (*begin)(void *dev, void *queue, void **out_section);
    /**
     * Ends the section. Does not block. After a failure the section counts as ended, and read
     * fails with the same code.
     */
    int (*end)(void *dev, void *queue, void *section);
    /**
     * Stores the times of a section that has ended. Returns 1 if its work is done, 0 if not, or a
     * negative code if there are no times, such as that of work that failed. Repeatable, with equal
     * results once it returned 1 [rule 70]. Never blocks. The queue's events still report a failure
     * that this entry returns. Any thread, but for one section one at a time.
     */
    int (*read)(void *dev, void *section, ferry_profile_times *out);
    /** Destroys a section that has ended, whether its work is done or not. Cannot fail. */
    void (*destroy)(void *dev, void *section);
} ferry_profile_table;

FERRY_END_DECLS

#endif
