/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file queue.h
 * Queues: in-order work of one device. Events: points in a queue that can be waited for.
 *
 * Every device has a default queue; on a device whose plugin has no queues it is the only one, all
 * its work is done when the call returns, and an event is complete when recorded. ferry serialises
 * the plugin's entries per queue, so a queue may be used from several threads; their work then runs
 * in the order of the serialised calls. Events may be used from any thread.
 *
 * A failure of queued work is reported by the first event recorded after it on its queue, and by no
 * later one. Work that ferry itself submits (copies, fills, arithmetic on blobs) has events of its
 * own, and its failure is attributed to the copies that it wrote, and to no other. Failures of work
 * that the program itself submits to a default queue are not attributed to any memory: each is
 * reported once, to the program's first event or synchronize, or else to the next access by the
 * host that has to fetch bytes from that device. ferry_queue_begin and ferry_memory_record_all
 * attribute them.
 *
 * Failure: unless a function names other codes, FERRY_EINVAL for NULL, FERRY_ENOMEM, FERRY_EDEVICE,
 * FERRY_ELOST once the device is lost, FERRY_EFORKED in a child of fork. A call that fails has
 * submitted nothing and changed nothing.
 */
#ifndef FERRY_QUEUE_H
#define FERRY_QUEUE_H

#include <ferry/device.h>

FERRY_BEGIN_DECLS

/** In-order work on one device. Opaque; retains its device. */
typedef struct ferry_queue ferry_queue;

/** A point in a queue. Opaque; retains its queue's device. */
typedef struct ferry_event ferry_event;

/**
 * The default queue of a device, opening the device if it was not yet. Borrowed, as long as the
 * device; never destroy it. NULL only for a NULL device or one that could not be opened.
 */
FERRY_API ferry_queue *ferry_device_queue(ferry_device *dev);

/**
 * Creates a further queue, which the caller destroys. Opens the device if it was not yet; does not
 * wait for work. FERRY_EUNSUPPORTED where the plugin has none; on failure *out is untouched.
 */
FERRY_API int ferry_queue_create(ferry_device *dev, ferry_queue **out);

/**
 * Waits for the queue's work and destroys it. NULL and a default queue are ignored. No thread may
 * use the queue meanwhile or afterwards; other threads may use memories that were used on it. Never
 * fails: a failure of queued work is reported by the next access to the memory that it wrote.
 */
FERRY_API void ferry_queue_destroy(ferry_queue *q);

/** The device of a queue, borrowed; NULL for NULL. Does not block. */
FERRY_API ferry_device *ferry_queue_device(const ferry_queue *q);

/**
 * Blocks until all work submitted to the queue so far is done. Errors: the code that work failed
 * with (FERRY_EDEVICE), FERRY_ELOST once the device is lost, FERRY_EFORKED.
 */
FERRY_API int ferry_queue_synchronize(ferry_queue *q);

/**
 * Copies `bytes` bytes of host memory to a place on the queue's device, in the queue's order.
 * Returns without waiting where the plugin can copy asynchronously: `src` stays in use until
 * ferry_queue_synchronize, or an event recorded afterwards, reports that the work is done.
 *
 * For places outside of memories and blobs, and for parts of a memory whose access the program has;
 * it does not change which copies are valid. 0 bytes do nothing. Errors: a NULL reference returns
 * the code that produced it.
 */
FERRY_API int ferry_queue_write(ferry_queue *q, ferry_ref dst, const void *src, size_t bytes);

/**
 * As ferry_queue_write, from the device to host memory: `dst` contains the bytes once the work is
 * done, and must not be accessed before.
 */
FERRY_API int ferry_queue_read(ferry_queue *q, void *dst, ferry_cref src, size_t bytes);

/**
 * The vendor's object of a queue: "cuda_stream" (cudaStream_t), "cl_command_queue". Writes `size`
 * bytes to `out`, which must be that type's size (FERRY_EINVAL otherwise); FERRY_EUNSUPPORTED for a
 * name the plugin does not know. The object is borrowed from the queue. Does not block.
 */
FERRY_API int ferry_queue_native(ferry_queue *q, const char *what, void *out, size_t size);

/**
 * Makes a queue of the program's own vendor object (a cudaStream_t, a cl_command_queue of the
 * device's context). The object stays the program's and must outlive the queue, which the caller
 * destroys. Errors are those of ferry_queue_create.
 */
FERRY_API int ferry_queue_wrap(ferry_device *dev, void *native, ferry_queue **out);

/**
 * A function for ferry_queue_call: `dev` and `queue` are the plugin's own handles (`queue` NULL:
 * the default one), `arg` the caller's. It may call entries of the plugin's extensions, and no
 * function of ferry. Returns 0, or a negative FERRY_E… code, after which it must not have called a
 * further entry.
 */
typedef int (*ferry_queue_call_fn)(void *dev, void *queue, void *arg);

/**
 * Runs `work` on the calling thread while no other thread submits to the queue, as ferry does
 * around each entry of a plugin: so that the entries of an extension run one at a time per queue,
 * as plugin.h requires. `what` names the operation in errors. Returns the result of `work`; a
 * failure is this thread's error, with the message that the plugin passed to host->error.
 * FERRY_EINVAL for NULL.
 */
FERRY_API int ferry_queue_call(ferry_queue *q, const char *what, ferry_queue_call_fn work,
                               void *arg);

/**
 * Reserves the queue for the calling thread until ferry_queue_end, whose event then reports the
 * failures of the work that the thread submits in between, and no others. An event reports all
 * failures since the event before it: where several threads use one queue, only work between begin
 * and end can be told apart.
 *
 * Other threads wait in every call that submits to the queue; ferry cannot delay work that they
 * submit by the vendor's object. Get the references before: between begin and end this thread may
 * only submit work, to any queue, by ferry/math.h, ferry_queue_call or the vendor's object. Calls
 * that work on a memory or a blob return FERRY_EINVAL meanwhile, unless the access is settled, and
 * so do the reductions, ferry_event_record on the reserved queue and another begin. Functions that
 * cannot return an error must be called before or after: destroy, release, and
 * ferry_memory_mark_lost, which does nothing here. FERRY_ENOMEM, FERRY_EDEVICE; the queue is then
 * not reserved.
 */
FERRY_API int ferry_queue_begin(ferry_queue *q);

/**
 * Ends the section that the same thread began, also if its work failed. *out is an event, owned by
 * the caller, that covers exactly the work submitted since ferry_queue_begin, for
 * ferry_memory_record_all; NULL if none of it can be pending, since the device is synchronous. Does
 * not block, except if no event can be recorded on the queue any more: then it waits until the work
 * is done, and the event has the result. FERRY_EINVAL for NULL and without a begin; nothing has
 * changed then.
 */
FERRY_API int ferry_queue_end(ferry_queue *q, ferry_event **out);

/**
 * An event after all work submitted to `q` so far; the caller destroys it. Does not block. *out
 * only on success. FERRY_EINVAL between ferry_queue_begin(q) and ferry_queue_end in one thread.
 */
FERRY_API int ferry_event_record(ferry_queue *q, ferry_event **out);

/**
 * Makes later work on `q` wait for `e`. The calling thread does not wait, unless the two queues
 * cannot wait for one another (different plugins or sync domains), in which case it blocks. The
 * event may be destroyed at once afterwards. If the work before the event is known to have failed,
 * returns its code without waiting.
 */
FERRY_API int ferry_queue_wait_event(ferry_queue *q, ferry_event *e);

/** 1 if the work before the event is done, 0 if not, or the code it failed with. Does not block. */
FERRY_API int ferry_event_query(ferry_event *e);

/** Blocks until the work before the event is done; 0, or the code it failed with. */
FERRY_API int ferry_event_synchronize(ferry_event *e);

/** Destroys the event, done or not; the work continues. NULL is accepted. */
FERRY_API void ferry_event_destroy(ferry_event *e);

FERRY_END_DECLS

#endif
