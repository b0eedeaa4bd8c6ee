/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file device.h
 * A device: its properties, its counters, and the vendor's objects.
 *
 * Devices are borrowed from a runtime. A device that was only enumerated is opened (a context is
 * created) by its first use: a memory or queue on it, its free memory, its native objects. All
 * functions may be called from any thread.
 *
 * Failure: unless a function names other codes, FERRY_EINVAL for NULL, the error of opening the
 * device, FERRY_EDEVICE, FERRY_ELOST once the device is lost, FERRY_EFORKED in a child of fork. A
 * device with memory of its own is lost as soon as exit() calls handlers that were registered
 * before the runtime listed the device. After a failure the outputs are unchanged, and the device
 * is as before. A function waits for queued work only if its comment says so.
 */
#ifndef FERRY_DEVICE_H
#define FERRY_DEVICE_H

#include <ferry/runtime.h>

FERRY_BEGIN_DECLS

/**
 * The properties of a device. A string is "" if the property is unknown. Read them through the
 * pointer that ferry returns: later members exist only if they end below struct_size.
 */
typedef struct ferry_device_properties {
    size_t struct_size;      /* sizeof(ferry_device_properties) of the library */
    const char *name;        /* "cuda:1" */
    const char *plugin;      /* "cuda" */
    const char *description; /* the vendor's description */
    const char *uuid;
    const char *pci;       /* "0000:3b:00.0" */
    uint64_t memory_total; /* in bytes; 0 if unknown */
    uint64_t max_alloc;    /* the size in bytes of the largest single allocation; 0 if unknown */
    uint32_t host_memory;  /* 1: the device works in the program's memory, and a copy costs
                            * nothing */
    /** 1: shares physical memory with the host, and the probe at open found it coherent. */
    uint32_t unified;
    uint32_t discrete; /* 1: the device has its own memory: neither host_memory nor unified */
    /** 1: the device computes on the host's processors; set for host memory too, if the plugin
     * declares it. */
    uint32_t host_processors;
    /**
     * The alignment of offsets for arithmetic on the device, in bytes; 0: an element's size
     * suffices. Arithmetic on a slice with another offset is done on the host, as a fallback.
     */
    uint64_t offset_alignment;
    /**
     * The size in bytes of the largest block that the device can compute with, which also limits
     * the size of a memory there; 0: max_alloc.
     */
    uint64_t max_binding;
} ferry_device_properties;

/**
 * Counters since the device was opened. A transfer between host and device counts for the device; a
 * copy between two devices counts for the receiving one. The single elements that reductions copy
 * back are not counted. The caller sets struct_size; only the members that fit in it are written.
 */
typedef struct ferry_device_stats {
    size_t struct_size; /* sizeof(ferry_device_stats) of the caller */
    uint64_t copies_h2d, copies_d2h, copies_d2d;
    uint64_t bytes_h2d, bytes_d2h, bytes_d2d;
    /** Maps and unmaps of memory shared with the host, which move no bytes. */
    uint64_t maps;
    /** Blocks of device memory and of pinned host memory that were handed out, by the pool or by
     * the plugin. */
    uint64_t allocs;
    uint64_t frees;      /* blocks that were given back */
    uint64_t live_bytes; /* bytes of blocks that are in use */
    uint64_t peak_bytes; /* the largest live_bytes so far */
    uint64_t pool_hits;  /* allocations that the pool's cache served */
    uint64_t fallbacks;  /* operations that were computed on the host because the plugin does not
                          * offer them */
    uint64_t evictions;  /* copies that were evicted because of a budget */
} ferry_device_stats;

/** A vendor's object by name, as for ferry_device_native. */
typedef struct ferry_native_object {
    const char *what; /* "cl_context" */
    void *value;      /* the object itself, where it is a pointer */
} ferry_native_object;

/** The name, "plugin:index", borrowed from the device; "" for NULL. */
FERRY_API const char *ferry_device_name(const ferry_device *dev);

/**
 * Properties, borrowed from the device; NULL for NULL. The structure never changes. Opening the
 * device may add properties, and determines `unified`, so call this again once it is open. Callable
 * from any thread, even while another thread opens the device.
 */
FERRY_API const ferry_device_properties *ferry_device_get_properties(const ferry_device *dev);

/**
 * Stores in *out the number of bytes of the device's memory that are free now, as the vendor counts
 * them. Opens the device. FERRY_EUNSUPPORTED if the vendor reports no number, FERRY_EINVAL for
 * NULL, or the error of opening the device; *out is then unchanged. Frees nothing. Callable from
 * any thread.
 */
FERRY_API int ferry_device_memory_available(ferry_device *dev, uint64_t *out);

/**
 * Blocks until all work of all queues of the device is done. Returns the code of failed work
 * (FERRY_EDEVICE), FERRY_ELOST, or FERRY_EFORKED.
 */
FERRY_API int ferry_device_synchronize(ferry_device *dev);

/**
 * Copies the counters to `out`, of which the caller has set struct_size: zeros for a device that is
 * not open yet. FERRY_EINVAL for NULL and for a struct_size of 0. Does not open the device.
 * Callable from any thread.
 */
FERRY_API int ferry_device_get_stats(const ferry_device *dev, ferry_device_stats *out);

/**
 * Writes a vendor's object to `out`, by name: "cl_platform_id" "cl_device_id" "cl_context"
 * "cl_command_queue" "cuda_device" (int) "cuda_stream" "cublas_handle", and "cpu_limit_threads", a
 * void (*)(unsigned n): later work that the calling thread submits to the CPU runs on at most n
 * threads, its own among them; 0 removes the limit.
 *
 * `size` must be that type's size (FERRY_EINVAL otherwise). FERRY_EUNSUPPORTED for a name the
 * plugin does not know. The object is borrowed from the device. Opens the device.
 */
FERRY_API int ferry_device_native(ferry_device *dev, const char *what, void *out, size_t size);

/**
 * Returns a table of further entries that the device's plugin offers under that name
 * ("acme.graphs/1"), and the device handle for its entries. Opens the device if it is not open.
 * *out_table is a const structure of the vendor, which begins with its size in a uint32_t and lives
 * as long as the process; *out_dev is the plugin's own handle of the device, borrowed from it.
 * Entries that take a queue are called through ferry_queue_call. FERRY_EUNSUPPORTED if the plugin
 * has no table of that name, FERRY_EPLUGIN for a table without a size, or the error of opening the
 * device; outputs are then unchanged. Callable from any thread.
 */
FERRY_API int ferry_device_extension(ferry_device *dev, const char *name, const void **out_table,
                                     void **out_dev);

/** A function for ferry_device_call; like ferry_queue_call_fn, which gets a queue too. */
typedef int (*ferry_device_call_fn)(void *dev, void *arg);

/**
 * Runs `work`, which calls entries of an extension that take no queue, on the calling thread, and
 * converts a failure into this thread's error: with `what`, and with the message that the plugin
 * passed to host->error. Holds no lock. `dev` of the work is the plugin's own handle. FERRY_EINVAL
 * for NULL; the device has to be open (ferry_device_extension opens it).
 */
FERRY_API int ferry_device_call(ferry_device *dev, const char *what, ferry_device_call_fn work,
                                void *arg);

/**
 * Whether an operation that the plugin does not offer is an error (FERRY_STRICT, or the runtime's
 * option) instead of being computed on the host. False for NULL. Callable from any thread.
 */
FERRY_API bool ferry_device_is_strict(const ferry_device *dev);

/**
 * Creates a device around the program's own vendor objects (OpenCL: "cl_context", "cl_device_id"
 * and, optionally, "cl_command_queue"; CUDA: "cuda_stream"), so that ferry's work and the program's
 * are ordered. The program keeps the objects, which must outlive the device. The device is borrowed
 * from the runtime. Errors: FERRY_EUNSUPPORTED, FERRY_EINVAL naming the object.
 */
FERRY_API int ferry_device_adopt(ferry_runtime *rt, const char *plugin,
                                 const ferry_native_object *items, size_t n, ferry_device **out);

/**
 * The device of that name ("cpu", "cuda:1") in the runtime from which `dev` is borrowed, opened if
 * it was not open yet: for code that has only a device and needs another one of the same
 * configuration. If `dev` is borrowed from several runtimes, the earliest of those that are still
 * open is used. *out is borrowed from that runtime, as from ferry_runtime_get_device, with its
 * errors; a memory or a queue on it keeps it open. FERRY_EINVAL for NULL, or if all those runtimes
 * are closed; *out is unchanged after an error. Callable from any thread.
 */
FERRY_API int ferry_device_sibling(ferry_device *dev, const char *name, ferry_device **out);

/**
 * A reference as a plain pointer of that device. NULL with FERRY_EUNSUPPORTED where handles are not
 * pointers (cl_mem); the host may dereference the pointer only if the device is a host-memory
 * device.
 */
FERRY_API void *ferry_device_pointer(ferry_device *dev, ferry_ref ref);

/** As ferry_device_pointer, for a reference that is only read. */
FERRY_API const void *ferry_device_const_pointer(ferry_device *dev, ferry_cref ref);

/**
 * Whether a handle, or where handles are pointers a pointer into it, belongs to memory of that
 * device: 1 or 0. The allocator does not matter: memory of the program's own cudaMalloc counts.
 * Host memory does not, even if a device has imported it; freed memory may count until it is
 * returned to the vendor. Opens the device. FERRY_EUNSUPPORTED where the plugin cannot tell (cpu,
 * OpenCL), FERRY_EINVAL for NULL. Callable from any thread.
 */
FERRY_API int ferry_device_owns(ferry_device *dev, const void *handle);

/**
 * Sets the maximum number of bytes that ferry holds on the device; 0 removes the limit. If ferry
 * holds more now, it evicts memories under ferry_memory_allow_eviction and waits for their copies
 * to the host. If that does not suffice, the budget is set nevertheless, and later allocations fail
 * with FERRY_ENOMEM. Bytes are counted as requested: a block may be up to a quarter larger.
 */
FERRY_API int ferry_device_set_budget(ferry_device *dev, uint64_t bytes);

/**
 * Frees the blocks that the pool has cached, after waiting for work that still uses them. Blocks in
 * use are not touched.
 */
FERRY_API int ferry_device_trim(ferry_device *dev);

/**
 * Frees device memory for work that failed for lack of it, such as a call of a vendor library by
 * the program: evicts up to `bytes` of memories under ferry_memory_allow_eviction, waiting for
 * their copies to the host, and trims as ferry_device_trim. ferry does the same itself before it
 * repeats an allocation, arithmetic or an operation. It does not report whether there is enough
 * memory now. FERRY_EINVAL between ferry_queue_begin and ferry_queue_end. Callable from any thread.
 */
FERRY_API int ferry_device_make_room(ferry_device *dev, uint64_t bytes);

FERRY_END_DECLS

#endif
