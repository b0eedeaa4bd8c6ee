/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file memory.h
 * Bytes that are kept coherent between the host and any number of devices. (Caffe: SyncedMemory.)
 *
 * A memory has at most one copy on the host and one on each device, allocated at its first use.
 * Some of them are valid. A read at a place copies the newest bytes there if they are elsewhere; a
 * write makes that place's copy the only valid one; bytes never written read as zeros. ferry makes
 * no unnecessary copy.
 *
 * Pointers and references are valid until the next call that invalidates or frees that copy: a
 * write elsewhere, ferry_memory_adopt, ferry_memory_allow_eviction, ferry_memory_discard, the last
 * release. A host pointer is returned when the bytes are there; a device reference when they are
 * ordered on the queue of the access (the device's default queue for the plain accessors), so that
 * work submitted there afterwards sees them.
 *
 * Threads: distinct memories may be used from distinct threads; one memory may be read from several
 * threads at once. The caller serialises writing calls with all other calls on the memory. A
 * settled access (the copy is valid and no work on it is pending) takes no lock.
 *
 * A failure of queued work invalidates the copies that the work was writing and the copies that
 * were made from these since, and no others. The first access to such a copy returns the code of
 * the failure (FERRY_EDEVICE), and the next access copies the bytes from another valid copy. If no
 * valid copy is left, the contents are lost: every call that reads, blob arithmetic and reductions
 * included, returns FERRY_ELOST, from the first access on, until the memory is written whole,
 * adopted or discarded. If a copy is lost with its device, or with the device that it was copied
 * from, the first access already uses another valid copy. In a child of fork, access to a copy that
 * was pending returns FERRY_EFORKED.
 *
 * Failure: every call either succeeds or leaves valid copies, pointers and sizes as they were; a
 * copy staged through the host may have made the host's copy valid as well. After fork, calls that
 * would use a device opened before it return FERRY_EFORKED, and so do those on a memory whose lock
 * another thread of the parent held; settled host access continues to work in the child.
 */
#ifndef FERRY_MEMORY_H
#define FERRY_MEMORY_H

#include <ferry/queue.h>

FERRY_BEGIN_DECLS

/** Bytes with replicas. Opaque, reference-counted; retains its devices. */
typedef struct ferry_memory ferry_memory;

/** The place of the newest bytes in Caffe's terms, derived from the set of valid copies. */
typedef enum ferry_memory_head_state {
    FERRY_HEAD_UNINITIALIZED = 0, /* no copy: the memory was never written */
    FERRY_HEAD_AT_HOST = 1,       /* only the host (HEAD_AT_CPU) */
    FERRY_HEAD_AT_DEVICE = 2,     /* one or more devices, but not the host (HEAD_AT_GPU) */
    FERRY_HEAD_SYNCED = 3         /* the host and at least one device */
} ferry_memory_head_state;

/**
 * The deleter of adopted memory. ferry calls it once, after all work on the memory is done, on the
 * thread that released the memory; no ferry lock is held. A deleter may release memory whose
 * deleters run within it; more than 16 deep, they run after it. It should return. If it ends by an
 * exception, by longjmp or by cancellation of its thread, ferry stays consistent: the release is
 * complete, except that the device may stay open permanently. Deleters that had to run after it run
 * at the end of a later call of this thread that releases memory or waits, or never if there is no
 * such call. Elsewhere in ferry a thread must not be cancelled, because it may hold a lock.
 */
typedef void (*ferry_memory_deleter)(void *arg);

/**
 * A flag of ferry_memory_adopt: ferry must not write to the memory. Accesses that write to that
 * copy fail with FERRY_EPERM.
 */
#define FERRY_ADOPT_READONLY 1u

/**
 * Creates a memory of `bytes` bytes (0 is allowed) whose home is `home`, without storage. The
 * caller owns its one reference. Errors: FERRY_EINVAL for a NULL home, FERRY_ENOMEM, the error of
 * opening the device; *out is then unchanged.
 */
FERRY_API int ferry_memory_create(ferry_device *home, size_t bytes, ferry_memory **out);

/** Adds a reference and returns `m`. NULL is accepted. Callable from any thread; cannot fail. */
FERRY_API ferry_memory *ferry_memory_retain(ferry_memory *m);

/**
 * Removes a reference; removing the last one waits for pending work, frees every copy and runs
 * deleters. NULL is accepted. Callable from any thread; cannot fail.
 */
FERRY_API void ferry_memory_release(ferry_memory *m);

/** The host's copy, to read. NULL on failure. [cpu_data] */
FERRY_API const void *ferry_memory_host_data(const ferry_memory *m);
/**
 * The host's copy, to read and write; it becomes the only valid one. NULL on failure.
 * [mutable_cpu_data]
 */
FERRY_API void *ferry_memory_mutable_host_data(ferry_memory *m);
/**
 * The host's copy, every byte of which the caller will write; nothing is copied. NULL on failure.
 */
FERRY_API void *ferry_memory_overwrite_host_data(ferry_memory *m);

/** The home device's copy, to read on its default queue. NULL handle on failure. [gpu_data] */
FERRY_API ferry_cref ferry_memory_device_data(const ferry_memory *m);
/**
 * The home device's copy, to read and write; it becomes the only valid one. NULL handle on failure.
 * [mutable_gpu_data]
 */
FERRY_API ferry_ref ferry_memory_mutable_device_data(ferry_memory *m);
/**
 * The home device's copy, every byte of which the caller will write; nothing is copied. NULL handle
 * on failure.
 */
FERRY_API ferry_ref ferry_memory_overwrite_device_data(ferry_memory *m);

/**
 * The primitive under all of these: the copy at `where` (NULL: the host) for `access` (FERRY_READ,
 * FERRY_WRITE or both), ordered on `q` (NULL: the device's default queue, or a blocking wait for
 * the host; otherwise a queue of `where`).
 *
 * A read waits for pending writes to the copy; a write waits for pending reads too. Waits are
 * queued where possible; otherwise, and always for the host, the call blocks. With FERRY_NOWAIT a
 * call that would wait for such work, or for another thread that holds the memory's lock or the
 * queue, returns FERRY_EBUSY and changes nothing; the allocation of memory may still block. If the
 * device's copy is the host's memory, all work on its default queue counts as pending, except work
 * that a program submits there by the vendor's own calls after a call that returned FERRY_EBUSY.
 * For the host *out is {pointer, 0}. Errors: FERRY_EINVAL (access 0, queue of another device),
 * FERRY_ENOMEM, FERRY_EDEVICE, FERRY_EBUSY, FERRY_EPERM, FERRY_EFORKED, FERRY_ELOST when the last
 * valid copy was lost to a failure; *out is then unchanged.
 */
FERRY_API int ferry_memory_access(ferry_memory *m, ferry_device *where, unsigned access,
                                  ferry_queue *q, ferry_ref *out);

/**
 * Makes the caller's memory the copy at `where` (NULL: the host, ref = {pointer, offset}) and the
 * only valid one.
 *
 * `bytes` is its length: at least the bytes in use, else FERRY_ESHAPE; it becomes the capacity. The
 * former copy there is freed, or its deleter run, after its pending work. With a deleter, ferry
 * owns the memory after success; with NULL the memory is borrowed, and must outlive its use here. A
 * later write elsewhere followed by an access here writes *into* the adopted memory, unless
 * FERRY_ADOPT_READONLY: then ferry releases it, and runs its deleter, when other contents have to
 * be stored here. A writing call, which blocks for that work. On failure the caller keeps ownership
 * and nothing has changed: FERRY_EINVAL, FERRY_ENOMEM, FERRY_EDEVICE, FERRY_EFORKED, FERRY_ELOST
 * for a lost device; FERRY_EPERM where a slice needs more bytes. [set_cpu_data, set_gpu_data]
 */
FERRY_API int ferry_memory_adopt(ferry_memory *m, ferry_device *where, ferry_ref ref, size_t bytes,
                                 unsigned flags, ferry_memory_deleter deleter, void *arg);

/**
 * Starts a copy of the newest bytes to `where` (NULL: the host) on `q` (NULL: default) and returns
 * without waiting for it where the plugin can copy asynchronously. Does nothing if that copy is
 * valid, or if the memory was never written. A later access there waits for the copy. If the copy
 * fails, that place's copy stays invalid and its next access returns the error. May run beside
 * readers. Errors are those of ferry_memory_access, including FERRY_ELOST for lost contents.
 * [async_gpu_push]
 */
FERRY_API int ferry_memory_prefetch(ferry_memory *m, ferry_device *where, ferry_queue *q);

/**
 * Records that work submitted to `q` so far, by the vendor's own calls, accesses the copy on q's
 * device: FERRY_READ, FERRY_WRITE or both. Needed only for work on another queue than that of the
 * access. Later conflicting accesses wait for it; FERRY_WRITE, a writing call, makes that copy the
 * only valid one. Does not block. FERRY_EUNINIT if that device has no valid copy, or the code of an
 * earlier failure of that copy; other errors as ferry_memory_access.
 */
FERRY_API int ferry_memory_record(ferry_memory *m, ferry_queue *q, unsigned access);

/**
 * A memory, and how work used it: FERRY_READ, FERRY_WRITE or both. ferry reads it during the call
 * only.
 */
typedef struct ferry_memory_use {
    ferry_memory *memory; /* not NULL */
    unsigned access;
} ferry_memory_use;

/**
 * Records that work which was submitted to `q` read or wrote the copies of `n` memories on q's
 * device. Each memory occurs once, in any order. `e`, an event of that device, covers all of the
 * work, one kernel or many; NULL means that the work is done. ferry does not keep the event: the
 * caller may destroy it at once.
 *
 * If the work fails, every copy that it wrote is lost, and no other; the same holds if the copies
 * that it read turn out to have failed. An event of ferry_queue_end covers exactly this work. With
 * an event of ferry_event_record, every failure on the queue since the previous event is attributed
 * to this work. Example:
 *
 *     ferry_memory_access(…) for each, on q; ferry_queue_begin(q); submit; ferry_queue_end(q, &e);
 *     ferry_memory_record_all(uses, n, q, e); ferry_event_destroy(e);
 *
 * Between the accesses and this call the caller keeps other threads from writing those memories,
 * and from reading those that the work writes. Several threads may do all this on one queue at
 * once, with distinct outputs: begin and end keep their work apart, and the work runs in the order
 * of the calls of begin. The references are invalid afterwards: before submitting more work with
 * them on a further queue, access again.
 *
 * For the memories that were written this is a writing call: their copies become the only valid
 * ones. It blocks only if host memory is short, until the work is done. After FERRY_EINVAL,
 * FERRY_EFORKED, and FERRY_ELOST for a lost device, nothing is recorded. Otherwise ferry records as
 * much as possible and returns the first error: FERRY_EUNINIT for a memory without a valid copy on
 * that device, FERRY_ELOST or the code of an earlier failure for contents that have failed
 * meanwhile.
 */
FERRY_API int ferry_memory_record_all(const ferry_memory_use *uses, size_t n, ferry_queue *q,
                                      ferry_event *e);

/**
 * Declares that no pointer, reference or unrecorded work on this memory remains. Until the next
 * access, its device copies may be evicted because of a budget. The contents are kept. Does not
 * wait for a device; waits for another thread that holds this memory's lock. Fails with
 * FERRY_EINVAL for NULL, and in a child of fork.
 */
FERRY_API int ferry_memory_allow_eviction(ferry_memory *m);

/**
 * Discards the contents: they read as zeros again. Storage is kept. A writing call, which does not
 * block: the next access waits for pending work. FERRY_EINVAL, FERRY_ENOMEM, FERRY_EDEVICE; the
 * contents are then as before.
 */
FERRY_API int ferry_memory_discard(ferry_memory *m);

/**
 * Marks the contents as lost: every access that reads returns FERRY_ELOST until the memory is
 * written again. For a caller that got the memory for writing and failed to write it. A writing
 * call; storage is kept. NULL is accepted. Cannot fail.
 */
FERRY_API void ferry_memory_mark_lost(ferry_memory *m);

/** The head state; FERRY_HEAD_UNINITIALIZED for NULL. Takes no lock. */
FERRY_API ferry_memory_head_state ferry_memory_head(const ferry_memory *m);
/** Whether the copy at `where` (NULL: the host) is valid; false for NULL `m`. Takes no lock. */
FERRY_API bool ferry_memory_is_valid_at(const ferry_memory *m, const ferry_device *where);
/**
 * A version counter that changes whenever the contents may have changed, for callers that cache
 * values computed from them. Every successful call that gets access to write counts (host, device
 * or ferry_memory_access), and so do adopt, discard, ferry_memory_record and _record_all with
 * FERRY_WRITE, and operations on a blob of it: fill, scale, update, copy_from, reading a file.
 * Failed calls may count too; reads, copies and evictions do not. A later write through a pointer
 * or reference, without a new access, does not count. 0 for NULL. Takes no lock; beside a writing
 * call it may be the number before or after.
 */
FERRY_API uint64_t ferry_memory_version(const ferry_memory *m);
/**
 * Capacity in bytes; 0 for NULL. A copy has storage for as many bytes. If the device has not so
 * much memory, the copy has storage for the bytes in use.
 */
FERRY_API size_t ferry_memory_size(const ferry_memory *m);
/**
 * Bytes in use, from the first: the largest range that the blobs sharing it use, the capacity if
 * there are no blobs. Bytes past this count are undefined: a write to all bytes in use is a write
 * to the whole memory. 0 for NULL.
 */
FERRY_API size_t ferry_memory_used(const ferry_memory *m);
/** The home device, borrowed; NULL for NULL. */
FERRY_API ferry_device *ferry_memory_home(const ferry_memory *m);

FERRY_END_DECLS

#endif
