/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file device.h
 * A device: what it is, what has happened on it, and the vendor's objects behind it.
 *
 * Devices are borrowed from a runtime. One that was only enumerated is opened (a context is
 * created) by its first use: a memory or queue on it, its free memory, its native objects. All
 * functions may be called from any thread.
 *
 * Failure: with no other code named, FERRY_EINVAL for NULL, what opening the device failed with,
 * FERRY_EDEVICE, FERRY_ELOST once the device is lost, FERRY_EFORKED in a child of fork. When exit() comes to
 * what was registered before the runtime listed the device, one with memory of its own is lost. What a call
 * was to write is then untouched, and the device as before. What does not say that it waits does
 * not wait for work of any queue.
 */
#ifndef FERRY_DEVICE_H
#define FERRY_DEVICE_H

#include <ferry/runtime.h>

FERRY_BEGIN_DECLS

/**
 * What a device is. Strings are "" where unknown. Read through the pointer ferry gives: members may
 * be added at the end.
 */
typedef struct ferry_device_properties {
    const char *name;        /* "cuda:1" */
    const char *plugin;      /* "cuda" */
    const char *description; /* the vendor's words */
    const char *uuid;
    const char *pci;       /* "0000:3b:00.0" */
    uint64_t memory_total; /* bytes; 0 where unknown */
    uint64_t max_alloc;    /* bytes of the largest single allocation; 0 where unknown */
    uint32_t host_memory;  /* 1: its memory is the program's own, and a copy costs nothing */
    /** 1: shares physical memory with the host, and the probe at open found it coherent. */
    uint32_t unified;
    uint32_t discrete; /* 1: neither of the two */
    /** 1: computes on the host's own processors; of host memory too, where the plugin says so. */
    uint32_t host_processors;
    /**
     * What offsets are multiples of where the device computes, in bytes; 0: an element's size will do.
     * Arithmetic on a slice that begins elsewhere is done on the host, as a fallback.
     */
    uint64_t offset_alignment;
    /** Bytes of the largest block that it can compute with, and so of a memory there; 0: max_alloc. */
    uint64_t max_binding;
} ferry_device_properties;

/**
 * Counts since the device was opened. Transfers belong to the device at their far end; a copy
 * between two devices counts on the one that receives. The single elements that reductions bring back
 * are not counted. Only members that fit the size given by the caller are written.
 */
typedef struct ferry_stats {
    uint64_t copies_h2d, copies_d2h, copies_d2d;
    uint64_t bytes_h2d, bytes_d2h, bytes_d2d;
    /** Maps and unmaps of memory shared with the host: transitions that moved no byte. */
    uint64_t maps;
    /** Blocks handed out, device and pinned host memory, whether by the pool or by the plugin. */
    uint64_t allocs;
    uint64_t frees;      /* blocks given back */
    uint64_t live_bytes; /* bytes handed out and not given back */
    uint64_t peak_bytes; /* the largest live_bytes so far */
    uint64_t pool_hits;  /* allocations that the pool's cache served */
    uint64_t fallbacks;  /* operations computed on the host because the plugin could not */
    uint64_t evictions;  /* replicas that a budget pushed out */
} ferry_stats;

/** One vendor object by name, as for ferry_device_native. */
typedef struct ferry_native {
    const char *what; /* "cl_context" */
    void *value;      /* the object itself, where it is a pointer */
} ferry_native;

/** "plugin:index", borrowed from the device; "" for NULL. */
FERRY_API const char *ferry_device_name(const ferry_device *dev);

/**
 * Properties, borrowed from the device; NULL for NULL. What the pointer shows never changes. Opening
 * the device may bring more to light, and settles `unified`: ask again once it is open. Any thread,
 * also while another one opens the device.
 */
FERRY_API const ferry_device_properties *ferry_device_get_properties(const ferry_device *dev);

/**
 * How many bytes of the device's memory are free now, by its vendor's count, in *out.
 * FERRY_EUNSUPPORTED where the vendor reports none, FERRY_EINVAL for NULL; errors of opening the
 * device, which this does; *out is then untouched. Frees nothing. Any thread.
 */
FERRY_API int ferry_device_memory_available(ferry_device *dev, uint64_t *out);

/** Deprecated: the former name of ferry_device_memory_available, which it calls. */
FERRY_API int ferry_device_memory_free(ferry_device *dev, uint64_t *out);

/**
 * Blocks until all work of all queues of the device is done. Errors: what the work failed with
 * (FERRY_EDEVICE), FERRY_ELOST, FERRY_EFORKED.
 */
FERRY_API int ferry_device_synchronize(ferry_device *dev);

/**
 * Copies at most `size_of_out` bytes of the counters to `out`; zeros for a device not opened yet.
 * FERRY_EINVAL for NULL.
 */
FERRY_API int ferry_device_stats(const ferry_device *dev, ferry_stats *out, size_t size_of_out);

/**
 * A vendor object by name, written to `out`: "cl_platform_id" "cl_device_id" "cl_context"
 * "cl_command_queue" "cuda_device" (int) "cuda_stream" "cublas_handle". `size` must be that type's
 * size (FERRY_EINVAL otherwise). FERRY_EUNSUPPORTED for a name the plugin does not know. What is
 * written is borrowed from the device. Opens the device.
 */
FERRY_API int ferry_device_native(ferry_device *dev, const char *what, void *out, size_t size);

/**
 * A table of further entries that the device's plugin offers under that name ("acme.graphs/1"), and
 * what its entries take as their device. Opens the device if it was not yet. *out_table is a
 * structure of the vendor's, const, which starts with its size in a uint32_t and lives as long as the
 * process; *out_dev is the plugin's own handle of the device, borrowed from it. Entries that take a
 * queue are called through ferry_queue_call. FERRY_EUNSUPPORTED where the plugin has none of that
 * name, FERRY_EPLUGIN for a table without a size, what opening failed with; outputs are then
 * untouched. Any thread.
 */
FERRY_API int ferry_device_extension(ferry_device *dev, const char *name, const void **out_table,
                                     void **out_dev);

/** What ferry_device_call runs; as ferry_queue_work, which has a queue too. */
typedef int (*ferry_device_work)(void *dev, void *arg);

/**
 * Runs `work`, which calls entries of an extension that take no queue, on the calling thread, and makes
 * this thread's error of what it returns: with `what`, and with what the plugin said through
 * host->error. Holds no lock. `dev` of the work is the plugin's own handle. FERRY_EINVAL for NULL; the
 * device has to be open (ferry_device_extension opens it).
 */
FERRY_API int ferry_device_call(ferry_device *dev, const char *what, ferry_device_work work,
                                void *arg);

/**
 * 1 where computing on the host because the plugin cannot is an error (FERRY_STRICT, or the runtime's
 * option), 0 where it is not, or for NULL. Any thread.
 */
FERRY_API int ferry_device_is_strict(const ferry_device *dev);

/**
 * A device around the program's own vendor objects (OpenCL: "cl_context", "cl_device_id" and,
 * optionally, "cl_command_queue"; CUDA: "cuda_stream"), so that ferry's work and the program's are
 * ordered. The objects stay the program's and must outlive the device, which is borrowed from the
 * runtime. Errors: FERRY_EUNSUPPORTED, FERRY_EINVAL naming the object.
 */
FERRY_API int ferry_device_adopt(ferry_runtime *rt, const char *plugin, const ferry_native *items,
                                 size_t n, ferry_device **out);

/**
 * The device of that name ("cpu", "cuda:1") in the runtime that lent `dev` out, opened if it was not yet: for what is
 * given a device alone and wants another one under the same configuration. Where several runtimes have lent `dev` out,
 * the one that was opened first and is open. *out is borrowed from that runtime, as from ferry_runtime_device, with its
 * errors; a memory or a queue on it keeps it open. FERRY_EINVAL for NULL, or where all those runtimes are closed; *out
 * is untouched after an error. Any thread.
 */
FERRY_API int ferry_device_sibling(ferry_device *dev, const char *name, ferry_device **out);

/**
 * A reference as a plain pointer of that device. NULL with FERRY_EUNSUPPORTED where handles are no
 * pointers (cl_mem); what is returned must be dereferenced on the host only if the device is a
 * host-memory device.
 */
FERRY_API void *ferry_device_pointer(ferry_device *dev, ferry_ref ref);

/** The same of a reference that is only read. */
FERRY_API const void *ferry_device_const_pointer(ferry_device *dev, ferry_cref ref);

/**
 * Whether a handle, or where handles are pointers a pointer into it, lies in memory of that device: 1
 * or 0. Whoever allocated it: the program's own cudaMalloc is the device's too. Host memory is no
 * device's, also where one has imported it; what was freed may be said to be the device's until it is
 * given back to the vendor. Opens the device. FERRY_EUNSUPPORTED where the plugin cannot say (cpu,
 * OpenCL), FERRY_EINVAL for NULL. Any thread.
 */
FERRY_API int ferry_device_owns(ferry_device *dev, const void *handle);

/**
 * The most bytes that ferry may hold on the device; 0 lifts the limit. A budget below what is held
 * now is met by evicting memories under ferry_memory_wont_use, for whose copies to the host it waits;
 * where those do not suffice the budget stands and later allocations fail with FERRY_ENOMEM. Bytes
 * are counted as they were asked for: a block may be up to a quarter larger.
 */
FERRY_API int ferry_device_set_budget(ferry_device *dev, uint64_t bytes);

/**
 * Gives blocks cached by the pool back to the vendor, waiting for work that still uses them. Live
 * blocks are untouched.
 */
FERRY_API int ferry_device_trim(ferry_device *dev);

/**
 * Makes room on the device for work that found no memory there, a vendor library's of the program's own
 * above all: evicts up to `bytes` of memories under ferry_memory_wont_use, for whose copies to the host
 * it waits, and does what ferry_device_trim does. That is what ferry does by itself before it tries an
 * allocation, arithmetic or an operation once more. Whether there is enough now the next try tells.
 * FERRY_EINVAL between ferry_queue_begin and ferry_queue_end. Any thread.
 */
FERRY_API int ferry_device_make_room(ferry_device *dev, uint64_t bytes);

FERRY_END_DECLS

#endif
