/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file profile.h
 * Time on a device's clock, and slices of a program in the trace of FERRY_TRACE.
 *
 * A device measures work if its plugin has the table "ferry.profile/1" (profile_plugin.h). A queue
 * does so while it is profiled, which may make its work slower; other queues are not affected.
 */
#ifndef FERRY_PROFILE_H
#define FERRY_PROFILE_H

#include <ferry/memory.h>
#include <ferry/queue.h>

#include <stdbool.h>

FERRY_BEGIN_DECLS

/**
 * Begins (true) or ends (false) profiling the queue. Calls nest: profiling ends with the end that
 * matches the first begin. May wait for the queue's work so far, and for other threads that use the
 * queue. FERRY_EUNSUPPORTED if the device cannot measure, if the queue wraps an object of the
 * program, or if the program has the queue's vendor object. FERRY_EINVAL for NULL, between
 * ferry_queue_begin and ferry_queue_end, and for an end without a begin. After a failure the queue
 * is as before. Callable from any thread.
 */
FERRY_API int ferry_queue_profile(ferry_queue *q, bool on);

/** Work on a profiled queue, from ferry_span_begin to ferry_span_end. Opaque; retains its queue. */
typedef struct ferry_span ferry_span;

/** When the device executed a span. Set struct_size before the call. */
typedef struct ferry_span_times {
    size_t struct_size;
    bool empty; /* no work was submitted; the other members are 0 */
    /** First begin and last end of the work on CLOCK_MONOTONIC, in nanoseconds. */
    uint64_t begin_ns, end_ns;
    /** Nanoseconds between the two on the device's clock. */
    uint64_t duration_ns;
    /** Nanoseconds by which begin_ns and end_ns may be wrong, in either direction. */
    uint64_t uncertainty_ns;
} ferry_span_times;

/**
 * Begins a span on a queue that is profiled, which the caller ends and destroys. It covers all work
 * that any thread submits to the queue meanwhile. Spans may nest and overlap. Does not wait for
 * work. FERRY_EINVAL for a queue that is not profiled; FERRY_ENOMEM; *out only on success.
 */
FERRY_API int ferry_span_begin(ferry_queue *q, ferry_span **out);
/**
 * Ends the span; call it once. Does not wait for work. After a failure ferry_span_read returns the
 * same code.
 */
FERRY_API int ferry_span_end(ferry_span *s);
/**
 * Returns 1 and fills in *out, up to its struct_size, if the work of the span is done. Returns 0 if
 * the work is not done, and a negative code if there are no times: FERRY_EINVAL before
 * ferry_span_end, or the code of work that failed. Does not wait for work. One thread at a time
 * may read a span.
 */
FERRY_API int ferry_span_read(ferry_span *s, ferry_span_times *out);
/** Destroys the span, done or not; one that has not ended is ended first. NULL is accepted. */
FERRY_API void ferry_span_destroy(ferry_span *s);

/** Whether FERRY_TRACE writes a trace; false until a runtime was opened. */
FERRY_API bool ferry_trace_is_on(void);
/**
 * Begins a slice of the trace, which ends with ferry_trace_pop: in host time on the calling thread,
 * and in device time for the work that is submitted to the queue meanwhile. Slices nest, 16 deep;
 * deeper ones are not written. `name` is copied; `kind` is a string constant, such as
 * "layer". Without a trace, these three functions do nothing. They cannot fail: a slice for which
 * there is no memory, or no device time, is not written.
 */
FERRY_API void ferry_trace_push(ferry_queue *q, const char *kind, const char *name);
/**
 * Records that the thread's latest slice reads the memory: the trace gets an arrow from the
 * memory's latest copy, if that copy is new.
 */
FERRY_API void ferry_trace_reads(const ferry_memory *m);
/** Ends the latest slice of the thread, once its work is submitted. */
FERRY_API void ferry_trace_pop(void);

FERRY_END_DECLS

#endif
