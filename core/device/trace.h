/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FERRY_TRACE: a file of Chrome trace events (Perfetto opens it) with one event for each copy, map,
 * allocation, fallback and eviction. With FERRY_LOG=debug the log has the same as text. A device is
 * a process of the trace, a queue a thread of it.
 */
#ifndef FERRY_CORE_TRACE_H
#define FERRY_CORE_TRACE_H

#include "core/device/device.h"

/* The reasons for a copy. */
enum ferry__reason {
    FERRY__READ_MISS,  /* a read, without a valid copy at its place */
    FERRY__WRITE_MISS, /* a read-write, without a valid copy at its place */
    FERRY__PREFETCH,
    FERRY__EVICT,   /* written back, to make room */
    FERRY__STAGING, /* through the host, on the way to another device */
    FERRY__COMPUTE, /* to and from the host, for an operation computed there */
    FERRY__PROGRAM  /* an explicit copy by the program */
};

/* Opens the trace if FERRY_TRACE asks for one; called when a runtime is opened. */
void ferry__trace_configure(void);

/* Writes the events so far to the file; called when a runtime is closed. */
void ferry__trace_flush(void);

/*
 * Whether a trace is being written; tested inline by the functions below, because most programs do
 * not trace.
 */
extern atomic_bool ferry__trace_wanted;

static inline bool ferry__trace_is_on(void)
{
    return atomic_load_explicit(&ferry__trace_wanted, memory_order_relaxed);
}

/* The time, for the start of an event; 0 while there is no trace. */
double ferry__trace_clock(void);

static inline double ferry__trace_now(void)
{
    return ferry__trace_is_on() ? ferry__trace_clock() : 0;
}

/* A transfer that happened. */
struct ferry__trace_copy {
    const char *what; /* "h2d", "d2h", "d2d" */
    const char *name; /* of the memory; may be NULL */
    uint64_t bytes;
    enum ferry__reason reason;
    bool unpinned; /* the host's side is memory that the device cannot copy from by itself */
};

/* Records a transfer on `q` that began at `start`. */
void ferry__trace_write_copy(const struct ferry__trace_copy *copy, const ferry_queue *q,
                             double start);

static inline void ferry__trace_copy(const struct ferry__trace_copy *copy, const ferry_queue *q,
                                     double start)
{
    if (ferry__trace_is_on())
        ferry__trace_write_copy(copy, q, start);
}

/* Whether there is a file: the log alone has no slices. */
extern atomic_bool ferry__trace_in_file;

/*
 * A slice of a lane, from `begin` to `end` in nanoseconds of the host's clock. The lane belongs to
 * a device's queue or, with `device` NULL, to a thread of the program.
 */
struct ferry__trace_slice {
    const ferry_device *device;
    unsigned number; /* the number of the queue or the thread */
    enum ferry__lane { FERRY__LANE_HOST, FERRY__LANE_COPIES, FERRY__LANE_WORK } lane;
    const char *kind, *name;
    uint64_t bytes; /* for a copy; else 0 */
    uint64_t begin, end;
};
void ferry__trace_write_slice(const struct ferry__trace_slice *s);

/*
 * Writes the begin, or the end, of arrow `id` at that time, inside a slice of the lane that was
 * written.
 */
void ferry__trace_write_arrow(const struct ferry__trace_slice *s, bool ends, uint64_t id,
                              uint64_t when);

/* Writes an event on a device: "alloc", "pool hit", "free", "map", "unmap", "fallback", "evict". */
void ferry__trace_write_event(const char *what, const char *name, uint64_t bytes,
                              const ferry_device *dev, double start);

static inline void ferry__trace_event(const char *what, const char *name, uint64_t bytes,
                                      const ferry_device *dev, double start)
{
    if (ferry__trace_is_on())
        ferry__trace_write_event(what, name, bytes, dev, start);
}

#endif
