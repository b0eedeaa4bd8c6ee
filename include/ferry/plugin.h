/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file plugin.h
 * The plugin ABI: what a shared object exports so that ferry can use its devices. See
 * ferry-plugin(7).
 *
 * A plugin exports two symbols and nothing else: the descriptor, which FERRY_PLUGIN(.name = "acme")
 * defines, and ferry_plugin_open. It includes this header and its vendor's; it imports no symbol of
 * libferry: every service arrives in the ferry_host table.
 *
 * Rules for every entry, unless its comment says otherwise:
 * - It returns 0, or a negative FERRY_E… code after it has reported the reason through host->error().
 *   Outputs are written on success only. After a failure the state is as before; FERRY_EUNSUPPORTED
 *   means that nothing was done.
 * - It may be called from any thread. ferry calls the entries that take a queue (but alloc, free
 *   and the event entries) one at a time per queue, unless the device says FERRY_DEVICE_CONCURRENT;
 *   entries of different queues, alloc, free, host_alloc, host_free and the event entries may run
 *   at the same time.
 * - `queue` is what queue_create or queue_wrap returned; NULL is the device's default queue. Work on a
 *   queue is done in order. A plugin without event_record is synchronous: the work of an entry is done
 *   when the entry returns.
 * - Memory named in asynchronous work stays valid until an event recorded afterwards completes.
 * - A reference is a handle and a byte offset. ferry adds to offsets only. A host pointer in a
 *   reference is {pointer, offset}.
 * - After fork ferry calls no entry in the child but, on host-memory devices, free and host_free.
 *
 * Versions: majors must be equal; a plugin with a newer minor is accepted, and so is an older one.
 * Each structure starts with its size and grows at the end only; ferry copies what both sides know
 * and treats the rest as absent. Never test sizes for equality. The mandatory set is frozen for a
 * major.
 */
#ifndef FERRY_PLUGIN_H
#define FERRY_PLUGIN_H

#include <ferry/descriptor.h>
#include <ferry/plugin_types.h>
#include <ferry/status.h>

FERRY_BEGIN_DECLS

/**
 * The entries of a plugin: a static const table. struct_size is sizeof(ferry_plugin_ops) as the plugin
 * was compiled. Entries under "mandatory" must be present. Any other may be NULL; its comment says
 * after "Absent" what ferry does then.
 */
typedef struct ferry_plugin_ops {
    uint32_t struct_size;
    uint32_t option_count;
    const ferry_plugin_option *options; /* option_count of them; may be NULL if none */
    uint32_t option_size;               /* sizeof(ferry_plugin_option) as compiled */
    uint32_t reserved;
    void *plugin; /* handed back as the first argument of the entries that take one; may be NULL */

    /* -- mandatory -- */

    /** The number of devices; 0 is success, a missing driver an error. Creates no context. */
    int (*device_count)(void *plugin, uint32_t *out);
    /** Opens device `index` and creates its context; the entries below get *out_dev. */
    int (*device_open)(void *plugin, uint32_t index, void **out_dev);
    /**
     * Closes the device. ferry has freed every block and destroyed every queue and event before.
     */
    void (*device_close)(void *dev);
    /**
     * A block of `bytes` > 0 bytes, usable on any queue; with FERRY_DEVICE_ORDERED_ALLOC on `queue`
     * in its order. Alignment at least 64 bytes. *out_handle is not NULL; *out_flags may get
     * FERRY_ALLOC_WAS_ZEROED. FERRY_ENOMEM when memory is short, and then nothing else has changed;
     * beyond the device's maximum the message says both numbers.
     */
    int (*alloc)(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags);
    /** Frees a block after its work, which with FERRY_DEVICE_ORDERED_ALLOC `queue` orders. */
    int (*free)(void *dev, void *queue, void *handle);
    /**
     * Copies `bytes` > 0 bytes by `kind`. The host's side is a plain host pointer, pinned or not.
     * Overlapping D2D is refused with FERRY_EINVAL or done as memmove would. May be asynchronous if
     * the plugin has events; may block for unpinned memory.
     */
    int (*memcpy)(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                  uint64_t bytes);
    /** Sets `bytes` > 0 bytes to the low byte of `byte`. */
    int (*memset)(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
    /**
     * y += alpha·x, 0 < n ≤ 2³⁰ elements. F32 is mandatory, other dtypes may be FERRY_EUNSUPPORTED.
     * x may be y, and not otherwise overlap. With alpha 0, NaN and infinities of x may become NaN in
     * y, or be left out.
     */
    int (*axpy)(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y);
    /** Blocks until all work of all queues is done; what it failed with, if it did. */
    int (*synchronize)(void *dev);

    /* -- what a device is -- */

    /**
     * Describes device `index`, or `dev` where it is not NULL (an open device, which may know
     * more). With dev NULL it creates no context. Absent: a discrete device without a description,
     * whose handles are pointers.
     */
    int (*properties)(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
    /**
     * 1 if the device can do operation FERRY_OP_… on `dtype` (convert: of which it is the source),
     * 0 if not. Absent: ferry tries.
     */
    int (*supports)(void *dev, uint32_t op, uint32_t dtype);
    /** Bytes free and in all. Absent: unknown. */
    int (*memory_info)(void *dev, uint64_t *out_free, uint64_t *out_total);
    /** The plugin's own account. Absent: `ferry check` cannot look for leaks inside the plugin. */
    int (*counters)(void *dev, ferry_plugin_counters *out);
    /** Gives memory that the plugin caches back to the system. Absent: it caches none. */
    int (*trim)(void *dev);

    /* -- memory shared with the host -- */

    /**
     * Host memory that copies fast (pinned), 64-byte aligned; flags as alloc. Absent, with
     * host_free: ordinary memory is used.
     */
    int (*host_alloc)(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                      uint32_t *out_flags);
    /** Frees a block of host_alloc, from any thread. */
    int (*host_free)(void *dev, void *ptr);
    /**
     * Makes `bytes` of host memory at `ptr`, from host_alloc or not, usable as device memory under
     * a handle; what it holds is kept. The memory then belongs to the device until map, and again
     * from unmap on. FERRY_EUNSUPPORTED for memory that it cannot take. Absent, with unimport_host:
     * the device is discrete.
     */
    int (*import_host)(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
    /**
     * Ends an import; ferry has waited for its work and unmapped it, and where unmap failed the map
     * ends as well. The host memory is the host's again, and holds what the device had.
     */
    int (*unimport_host)(void *dev, void *handle);
    /**
     * Gives the host the first `bytes` of an imported block, for `access` FERRY_READ or
     * FERRY_READ|FERRY_WRITE, after the queue's work so far; blocks until the host may touch them.
     * If the block is mapped already, this changes the access, and the host can read it throughout.
     * Absent, with unmap: waiting for the queue is all that sharing needs.
     */
    int (*map)(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
    /** Takes them back; later work on the queue sees what the host wrote. */
    int (*unmap)(void *dev, void *queue, void *handle);

    /* -- two devices of this plugin -- */

    /**
     * 1 if peer_copy can go from `src_dev` to `dst_dev` directly, 0 if not. Absent, with peer_copy:
     * through the host.
     */
    int (*peer_access)(void *dst_dev, void *src_dev);
    /**
     * Copies between devices, on a queue of dst_dev; ferry has ordered it after the source's work.
     */
    int (*peer_copy)(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                     uint64_t bytes);

    /* -- queues and events; absent: everything is synchronous -- */

    /** A queue besides the default one. */
    int (*queue_create)(void *dev, uint32_t flags, void **out_queue);
    /**
     * Destroys a queue of queue_create or queue_wrap; its work is done. The program's own object
     * behind a wrapped one is left alone.
     */
    int (*queue_destroy)(void *dev, void *queue);
    /**
     * Blocks until the queue's work so far is done; what it failed with, if it did. The next event on
     * the queue has that failure too: another thread's work may be between. Absent: synchronize.
     */
    int (*queue_synchronize)(void *dev, void *queue);
    /** A queue around the program's own vendor object. */
    int (*queue_wrap)(void *dev, void *native, void **out_queue);
    /**
     * The vendor object of that name behind a queue (NULL: the default one). FERRY_EINVAL unless
     * size is its type's.
     */
    int (*queue_native)(void *dev, void *queue, const char *what, void *out, uint64_t size);
    /**
     * A point after the queue's work so far. Must flush: the event completes without a further
     * call; until then work may be kept back and submitted at once. The five event entries go
     * together.
     */
    int (*event_record)(void *dev, void *queue, void **out_event);
    /**
     * 1 done, 0 not yet, or the negative code that the work since the event before it failed with.
     * Never blocks.
     */
    int (*event_query)(void *dev, void *event);
    /** Blocks until done; 0 or that code. */
    int (*event_synchronize)(void *dev, void *event);
    /**
     * Destroys the event, done or not. ferry destroys every event that it was given, once, and
     * maybe after its queue.
     */
    int (*event_destroy)(void *dev, void *event);
    /**
     * Later work on `queue` waits for `event`, of this device or of one of the same sync_domain.
     * Does not block the caller.
     */
    int (*queue_wait)(void *dev, void *queue, void *event);

    /* -- the vendor's objects -- */

    /**
     * The vendor object of that name. FERRY_EUNSUPPORTED for a name unknown, FERRY_EINVAL unless
     * size is its type's.
     */
    int (*native)(void *dev, const char *what, void *out, uint64_t size);
    /**
     * Opens a device around the program's own objects, which stay the program's: `n` names and
     * values. *out_index: the device's index among device_count's, or UINT32_MAX. Closed by
     * device_close.
     */
    int (*adopt)(void *plugin, const char *const *names, void *const *values, uint64_t n,
                 void **out_dev, uint32_t *out_index);

    /*
     * -- arithmetic: absent, or FERRY_EUNSUPPORTED for a dtype: ferry computes on the host and
     * counts a fallback -- 0 < n ≤ 2³⁰. F16 and BF16 accumulate in F32. No operand overlaps another
     * unless said.
     */

    /** x *= alpha. */
    int (*scal)(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
    /** y = x. Absent: memcpy D2D. */
    int (*copy)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
    /**
     * Every element of y = value, which the dtype can hold. Absent: memset where the bytes are all
     * the same, else from the host.
     */
    int (*fill)(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
    /**
     * y = x, converted: to nearest even, integers saturate, NaN becomes 0 in them.
     * FERRY_EUNSUPPORTED where either dtype is one that the plugin does not know.
     */
    int (*convert)(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                   uint32_t y_dtype, ferry_ref y);
    /**
     * One element to `result`, in queue order: sum of x·y. The element is F64 for F64 and F32 for
     * F32, F16 and BF16. The relative error is below 1e-6 at 2²⁸ elements of one sign. x may be y.
     */
    int (*dot)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
               ferry_ref result);
    /** The same: sum of |x|. */
    int (*asum)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
    /** The same: sum of x². */
    int (*sumsq)(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
    /**
     * Row-major y = alpha·op(A)·x + beta·y; sizes and strides fit int32. `trans` is FERRY_NO_TRANS
     * or FERRY_TRANS. With beta 0, y is not read.
     */
    int (*gemv)(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
                double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
                ferry_ref y, int64_t incy);
    /** Row-major C = alpha·op(A)·op(B) + beta·C, likewise. */
    int (*gemm)(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc);

    /* -- since 1.1 -- */

    /**
     * A table of further entries of that name: ferry's own ("ferry.op/1", op_plugin.h), or one that
     * the plugin offers to programs under a name of its own ("acme.graphs/1"). *out_table is a static
     * const structure that starts with its size in a uint32_t, valid as long as the process.
     * FERRY_EUNSUPPORTED for a name unknown, or on a device that cannot. Any thread; does not block.
     * Absent: there is none.
     */
    int (*extension)(void *dev, const char *name, const void **out_table);
    /**
     * 1 if `handle` is a block in this device's memory or, where handles are pointers, points into
     * one, whichever program allocated it; 0 for any other value: host memory, imported or pinned,
     * another device's memory, a freed block (after an ordered free the vendor may still know it), an
     * arbitrary number. Never NULL. The pointer is never followed; a plugin that cannot answer for
     * every value leaves the entry out. Any thread; does not block. Absent: unknown.
     */
    int (*owns)(void *dev, const void *handle);
    /**
     * 1 if convert can go from `x_dtype` to `y_dtype`, 0 if not; asked only where supports says 1 for
     * the source. Any thread; does not block. Absent: ferry tries.
     */
    int (*supports_convert)(void *dev, uint32_t x_dtype, uint32_t y_dtype);
} ferry_plugin_ops;

/**
 * Called once in a process, before anything else and only when the plugin is wanted. Stores the
 * address of the plugin's table in *out, which stays valid as long as the process. It must not
 * touch a device; a vendor library that cannot be loaded is an error here. ferry never unloads a
 * plugin. If it fails it may be called again.
 */
FERRY_API int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out);

FERRY_END_DECLS

#endif
