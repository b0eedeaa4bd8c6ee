/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file plugin.h
 * The plugin ABI: the symbols and the table that a shared object exports so that ferry can use its
 * devices. See ferry-plugin(7), which explains each numbered rule. descriptor.h has those of the
 * file and of versions.
 *
 * Rules for every entry, unless its comment states otherwise:
 * - An entry returns 0, or reports the reason through host->error() and returns a negative FERRY_E…
 *   code [rule 11]. It writes outputs on success only [rule 12]. After a failure the state is as
 *   before; FERRY_EUNSUPPORTED means that the entry did nothing [rule 13]. After an error that ends
 *   the device's context, entries return FERRY_ELOST; free, destroy and close still work [rule 51].
 * - An entry does not exit, abort or print, does not change the program's signal handlers, rounding
 *   mode or other state [rule 16], and writes no byte outside of its output [rule 27].
 * - ferry calls entries from any thread. Entries that take a queue, except alloc, free and the
 *   event entries, are called one at a time per queue, unless the device has
 *   FERRY_DEVICE_CONCURRENT. Entries of different queues, alloc, free, host_alloc, host_free and
 *   the event entries may run concurrently [rule 14].
 * - `queue` is a handle from queue_create or queue_wrap; NULL is the device's default queue. Work
 *   on a queue runs in order [rule 34]. A plugin without event_record is synchronous: the work of
 *   an entry is done when the entry returns [rule 35].
 * - Memory of asynchronous work stays valid until an event recorded after the work completes.
 * - A reference is a handle and a byte offset [rule 28]. ferry changes only the offset. A host
 *   pointer is passed as the reference {pointer, offset}.
 * - After fork, ferry calls in the child only free and host_free of host-memory devices [rule 53].
 */
#ifndef FERRY_PLUGIN_H
#define FERRY_PLUGIN_H

#include <ferry/descriptor.h>
#include <ferry/plugin_types.h>
#include <ferry/status.h>

FERRY_BEGIN_DECLS

/**
 * The entries of a plugin, in a static const table. struct_size is sizeof(ferry_plugin_ops) as the
 * plugin was compiled. The entries under "mandatory" must be present. Any other entry may be NULL;
 * "Absent:" in its comment describes the behaviour of ferry without it.
 */
typedef struct ferry_plugin_ops {
    uint32_t struct_size;
    uint32_t option_count;
    const ferry_plugin_option *options; /* option_count entries; may be NULL if option_count is 0 */
    uint32_t option_size;               /* sizeof(ferry_plugin_option) as compiled */
    uint32_t reserved;
    void *plugin; /* first argument of the entries that take `plugin`; may be NULL */

    /* -- mandatory -- */

    /**
     * The number of devices: 0 is success, a missing driver an error [rule 18]. Creates no context.
     */
    int (*device_count)(void *plugin, uint32_t *out);
    /**
     * Opens device `index` and creates its context; fails outside of the count [rule 19]. The
     * entries below take *out_dev as `dev`.
     */
    int (*device_open)(void *plugin, uint32_t index, void **out_dev);
    /**
     * Closes the device and returns all that device_open took [rule 20]. ferry has freed all blocks
     * and destroyed all queues and events.
     */
    void (*device_close)(void *dev);
    /**
     * Allocates `bytes` > 0 bytes, aligned to at least 64 bytes, usable on every queue [rule 23];
     * ordered on `queue` with FERRY_DEVICE_ORDERED_ALLOC. *out_handle is not NULL. *out_flags may
     * be set to FERRY_ALLOC_WAS_ZEROED. FERRY_ENOMEM when memory is short, with no other effect
     * [rule 24]; the message has the size and, if exceeded, the device's limit.
     */
    int (*alloc)(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags);
    /** Frees a block after its work, with FERRY_DEVICE_ORDERED_ALLOC in queue order [rule 26]. */
    int (*free)(void *dev, void *queue, void *handle);
    /**
     * Copies `bytes` > 0 bytes in the direction `kind`. The host side is a host pointer, pinned or
     * pageable. An overlapping D2D copy returns FERRY_EINVAL or works as memmove [rule 29]. May be
     * asynchronous if the plugin has events; may block for pageable memory.
     */
    int (*memcpy)(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                  uint64_t bytes);
    /** Sets `bytes` > 0 bytes to the low byte of `byte` [rule 30]. */
    int (*memset)(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
    /**
     * y += alpha·x for n elements, 0 < n ≤ 2³⁰. F32 is mandatory; other dtypes may be
     * FERRY_EUNSUPPORTED. x may equal y; other overlaps do not occur. With alpha 0, NaN and
     * infinities in x may either propagate to y or be ignored.
     */
    int (*axpy)(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y);
    /**
     * Waits for all work of all queues [rule 40]. Returns the code of work that failed [rule 52].
     */
    int (*synchronize)(void *dev);

    /* -- properties of a device -- */

    /**
     * Describes the open device `dev`, or with dev NULL device `index`, creating no context.
     * Absent: a discrete device without a description, whose handles are pointers.
     */
    int (*properties)(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
    /**
     * Whether the device supports FERRY_OP_… `op` for `dtype` (convert: the source's): 1 or 0
     * [rule 22]. Absent: ferry calls the operation's entry and checks for FERRY_EUNSUPPORTED.
     */
    int (*supports)(void *dev, uint32_t op, uint32_t dtype);
    /** Free and total bytes of the device. Absent: unknown. */
    int (*memory_info)(void *dev, uint64_t *out_free, uint64_t *out_total);
    /** The plugin's own counters. Absent: `ferry check` cannot detect leaks inside the plugin. */
    int (*counters)(void *dev, ferry_plugin_counters *out);
    /**
     * Returns the memory in the plugin's caches to the system. Absent: the plugin has no caches.
     */
    int (*trim)(void *dev);

    /* -- memory shared with the host -- */

    /**
     * Allocates pinned host memory, 64-byte aligned [rule 31]; flags as in alloc. Absent, together
     * with host_free: ferry uses pageable memory.
     */
    int (*host_alloc)(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                      uint32_t *out_flags);
    /** Frees a block from host_alloc. Callable from any thread. */
    int (*host_free)(void *dev, void *ptr);
    /**
     * Makes `bytes` bytes of host memory at `ptr`, from host_alloc or not, usable as device memory
     * under a handle, with their contents. Until map, and again from unmap on, only the device may
     * access it [rule 32]. FERRY_EUNSUPPORTED for memory that cannot be imported. Absent, together
     * with unimport_host: the device is treated as discrete.
     */
    int (*import_host)(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
    /**
     * Ends an import whose work is done and which is unmapped; a map whose unmap failed ends here.
     * The host may access the memory again and sees the device's contents.
     */
    int (*unimport_host)(void *dev, void *handle);
    /**
     * Gives the host access to the first `bytes` bytes of an imported block, for `access`
     * FERRY_READ or FERRY_READ|FERRY_WRITE, after the queue's work so far; blocks until then. For a
     * mapped block, changes the access; the host can read the bytes throughout. Absent, together
     * with unmap: waiting for the queue is sufficient.
     */
    int (*map)(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
    /** Ends the host's access. Later work on the queue sees the host's writes. */
    int (*unmap)(void *dev, void *queue, void *handle);

    /* -- two devices of this plugin -- */

    /**
     * Whether peer_copy can copy directly from `src_dev` to `dst_dev`: 1 or 0. Absent, together
     * with peer_copy: ferry copies through the host.
     */
    int (*peer_access)(void *dst_dev, void *src_dev);
    /** Copies from `src_dev` on a queue of `dst_dev`, after the source's work [rule 42]. */
    int (*peer_copy)(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                     uint64_t bytes);

    /* -- queues and events; absent: all work is synchronous -- */

    /** Creates a queue in addition to the default queue. */
    int (*queue_create)(void *dev, uint32_t flags, void **out_queue);
    /**
     * Destroys a queue from queue_create or queue_wrap, whose work is done. The program owns the
     * vendor object of a wrapped queue; it is not destroyed.
     */
    int (*queue_destroy)(void *dev, void *queue);
    /**
     * Blocks until the queue's work so far is done, and returns the code of work that failed. The
     * next event on the queue also reports it: another thread may record it. Absent: synchronize.
     */
    int (*queue_synchronize)(void *dev, void *queue);
    /** Creates a queue for a vendor object of the program, such as a cudaStream_t. */
    int (*queue_wrap)(void *dev, void *native, void **out_queue);
    /**
     * Returns the vendor object `what` of a queue (NULL: the default queue). FERRY_EINVAL if `size`
     * is not its type's.
     */
    int (*queue_native)(void *dev, void *queue, const char *what, void *out, uint64_t size);
    /**
     * Records an event after the queue's work so far, and flushes: the event completes without a
     * further call [rule 37]. Until then the plugin may collect work and submit it in one batch.
     * The five event entries are present or absent together [rule 36].
     */
    int (*event_record)(void *dev, void *queue, void **out_event);
    /**
     * 1 if the work before the event is done, 0 if not, or the negative code of a failure of the
     * work since the previous event. Never blocks [rule 38].
     */
    int (*event_query)(void *dev, void *event);
    /** Blocks until the work before the event is done; 0, or the code as for event_query. */
    int (*event_synchronize)(void *dev, void *event);
    /** Destroys the event, done or not: each event once, possibly after its queue [rule 41]. */
    int (*event_destroy)(void *dev, void *event);
    /**
     * Makes later work on `queue` wait for `event`, of this device or of one with the same
     * sync_domain. Does not block the caller [rule 39].
     */
    int (*queue_wait)(void *dev, void *queue, void *event);

    /* -- the vendor's objects -- */

    /**
     * Returns the vendor object `what`. FERRY_EUNSUPPORTED for an unknown name, FERRY_EINVAL if
     * `size` is not its type's.
     */
    int (*native)(void *dev, const char *what, void *out, uint64_t size);
    /**
     * Opens a device on `n` named vendor objects of the program, which keeps their ownership.
     * *out_index is the index of the device as in device_count, or UINT32_MAX. device_close closes
     * the device.
     */
    int (*adopt)(void *plugin, const char *const *names, void *const *values, uint64_t n,
                 void **out_dev, uint32_t *out_index);

    /*
     * -- arithmetic, on 0 < n ≤ 2³⁰ elements [rule 44]. Absent, or FERRY_EUNSUPPORTED for a dtype:
     * ferry computes on the host and counts a fallback [rule 43]. Results are within a rounding or
     * two of the exact ones; NaN and infinities propagate [rule 45]. F16 and BF16 accumulate in F32
     * [rule 46]. Operands overlap only as stated [rule 50]. --
     */

    /** x *= alpha. */
    int (*scal)(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
    /** y = x. Absent: memcpy D2D. */
    int (*copy)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
    /**
     * Sets every element of y to `value`, which the dtype can represent. Absent: memset if all
     * bytes of an element are equal, else from the host.
     */
    int (*fill)(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
    /**
     * y = x, converted: rounded to nearest even, integers saturate, NaN becomes integer 0
     * [rule 47]. FERRY_EUNSUPPORTED for an unknown dtype.
     */
    int (*convert)(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                   uint32_t y_dtype, ferry_ref y);
    /**
     * result = Σ x·y in queue order, one element: F64 for F64; F32 for F32, F16 and BF16. The
     * relative error is below 1e-6 for 2²⁸ elements of one sign [rule 48]. x may equal y.
     */
    int (*dot)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
               ferry_ref result);
    /** result = Σ |x|, likewise. */
    int (*asum)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
    /** result = Σ x², likewise. */
    int (*sumsq)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
    /**
     * y = alpha·op(A)·x + beta·y, row-major. Sizes and strides fit in int32. `trans` is
     * FERRY_NO_TRANS or FERRY_TRANS. With beta 0, y is not read [rule 49].
     */
    int (*gemv)(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
                double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
                ferry_ref y, int64_t incy);
    /** C = alpha·op(A)·op(B) + beta·C, row-major, likewise. */
    int (*gemm)(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc);

    /* -- since 1.1 -- */

    /**
     * Returns the table of further entries `name`: one of ferry's ("ferry.op/1", op_plugin.h), or
     * one that the plugin offers to programs under its own name ("acme.graphs/1"). *out_table is a
     * static const structure that begins with its size in a uint32_t, valid for the life of the
     * process. FERRY_EUNSUPPORTED for an unknown name, and for a device without the table
     * [rule 55]. Any thread; does not block. Absent: no tables.
     */
    int (*extension)(void *dev, const char *name, const void **out_table);
    /**
     * 1 if `handle` is a block of this device's memory or, where handles are pointers, a pointer
     * into one, whichever program allocated it. 0 for any other value: host memory, imported or
     * pinned; another device's memory; a freed block, even if the vendor still knows it after an
     * ordered free; an arbitrary number. `handle` is not NULL and must not be dereferenced
     * [rule 33]. A plugin that cannot answer for every value omits the entry. Any thread; does not
     * block. Absent: unknown.
     */
    int (*owns)(void *dev, const void *handle);
    /**
     * Whether convert supports `x_dtype` to `y_dtype`: 1 or 0. ferry asks only if supports returned
     * 1 for the source. Any thread; does not block. Absent: as for supports.
     */
    int (*supports_convert)(void *dev, uint32_t x_dtype, uint32_t y_dtype);
} ferry_plugin_ops;

/**
 * The plugin's entry point: stores the address of the plugin's table, valid for the life of the
 * process. ferry calls it once per process, before any entry and only when the plugin is needed;
 * after a failure it may call it again. It must not access a device [rule 17]. A vendor library
 * that cannot be loaded is an error here. ferry never unloads a plugin.
 */
FERRY_API int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out);

FERRY_END_DECLS

#endif
