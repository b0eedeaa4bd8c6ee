/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file plugin_types.h
 * The types of the interface between ferry and a plugin: ferry's services, and the structures and
 * numbers that the entries of plugin.h use.
 *
 * plugin.h includes this header and has the rules.
 */
#ifndef FERRY_PLUGIN_TYPES_H
#define FERRY_PLUGIN_TYPES_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/* ---- services of ferry ---- */

/** Services of ferry. The table is valid for the life of the process. */
typedef struct ferry_host {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor;
    uint32_t reserved;
    /**
     * Reports why the entry running on this thread fails: the vendor's call and its error by name
     * ("clEnqueueWriteBuffer: CL_OUT_OF_RESOURCES"). ferry adds plugin, device, operation and
     * bytes. Returns `code`, so that an entry can `return host->error(FERRY_EDEVICE, …)`. The code
     * FERRY_ELOST marks the device as lost permanently.
     */
    int (*error)(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);
    /**
     * Writes a line to ferry's log at level FERRY_LOG_…. Any thread, also threads of the plugin.
     */
    void (*log)(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
    /**
     * The value of this plugin's "option.KEY", or of its core key of that name ("pool_limit", for a
     * plugin that caches memory itself), or NULL if neither is set. The string is valid for the
     * life of the process. May be called only inside ferry_plugin_open, device_count, properties,
     * device_open and adopt, on the thread that ferry called [rule 15].
     */
    const char *(*option)(const char *key);

    /*
     * -- since 1.1: options by type, and folders. The restrictions of `option` on entries and
     * threads apply. --
     */

    /**
     * Stores the value of this plugin's "option.KEY" as an integer from `least` to `most`. If the
     * option is not set, *out keeps its value, the default. Returns FERRY_ECONF for any other
     * value; ferry has already reported the value and where it was set, and the calling entry
     * returns the code.
     */
    int (*option_integer)(const char *key, int64_t least, int64_t most, int64_t *out);
    /** As option_integer, for a finite number from `least` to `most`. */
    int (*option_real)(const char *key, double least, double most, double *out);
    /**
     * As option_integer, for a boolean: 1 for yes, on, true and 1; 0 for no, off, false and 0. Case
     * is ignored.
     */
    int (*option_boolean)(const char *key, uint32_t *out);
    /** As option_integer, for a size in bytes, "4096", "512MiB" or "1.5 GiB", from `least` to
     * `most`. */
    int (*option_size)(const char *key, uint64_t least, uint64_t most, uint64_t *out);
    /** As option_integer, for one of the words in `words` ("on|off|auto"); stores its index, from
     * 0. */
    int (*option_enum)(const char *key, const char *words, uint32_t *out);
    /**
     * Stores the path of a folder for files that this plugin keeps between runs: ferry/NAME in
     * $XDG_CACHE_HOME or ~/.cache. Only the user may write to it; it is created if it does not
     * exist. Files in it may come from another machine, driver or version, and may disappear.
     * FERRY_EUNSUPPORTED without a home directory, for a folder that others may write to, and for a
     * program with more privileges than its caller; FERRY_EINVAL if `size` is too small.
     */
    int (*cache_folder)(char *out, uint64_t size);
    /**
     * Allocates temporary device memory from ferry's pool for the work that the running entry
     * submits to its queue: at least `bytes` > 0 bytes, aligned as by alloc, with undefined
     * contents. An entry may call this several times. May be called only inside an entry that takes
     * a queue, for a device with FERRY_DEVICE_SCRATCH, on the thread that ferry called;
     * FERRY_EINVAL otherwise. FERRY_ENOMEM if the memory or the budget is exhausted; the error is
     * already reported.
     *
     * The plugin does not free the memory. When the entry returns, later entries of the same queue
     * may get the same memory, since their work runs afterwards. The queue keeps it until the queue
     * is destroyed, or until ferry_device_trim. During this call ferry may call alloc, free, trim,
     * the event entries and queue_synchronize: the caller must hold no lock that these take.
     */
    int (*scratch)(uint64_t bytes, void **out_handle);
} ferry_host;

/* ---- properties of devices ---- */

/** Flags of ferry_plugin_properties. */
/** Handles are host pointers, which the program can use directly. */
#define FERRY_DEVICE_HOST_MEMORY 1u
/** The device shares physical memory with the host; ferry verifies this by a probe. */
#define FERRY_DEVICE_UNIFIED 2u
/** Entries may run concurrently even on one queue. */
#define FERRY_DEVICE_CONCURRENT 4u
/** alloc and free are ordered on their queue and fast; ferry adds no pool. */
#define FERRY_DEVICE_ORDERED_ALLOC 8u
/** Handles are device pointers: handle + offset is a valid address on the device. */
#define FERRY_DEVICE_POINTERS 16u
/**
 * The device computes on the host's processors, for example OpenCL on a CPU. ferry selects it only
 * by name, or if there is no other device: a program can use the host's processors directly.
 */
#define FERRY_DEVICE_HOST_PROCESSORS 32u
/** Entries call host->scratch; ferry records the queue of each call. Since 1.1. */
#define FERRY_DEVICE_SCRATCH 64u
/**
 * The driver may copy at map and unmap. If FERRY_DEVICE_UNIFIED is also set, ferry measures map and
 * unmap when it opens the device, and treats it as discrete if they take as long as copies. Since
 * 1.1.
 */
#define FERRY_DEVICE_MAP_MAY_COPY 128u

/**
 * The properties of a device, as they are [rule 21]. ferry sets struct_size and zeroes the rest
 * before the call. An unknown property stays 0 or "".
 */
typedef struct ferry_plugin_properties {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t memory_total; /* bytes */
    uint64_t max_alloc;    /* largest block, in bytes */
    /** Devices of this plugin with equal nonzero values can wait for each other's events. */
    uint64_t sync_domain;
    /** The alignment that import_host requires of pointers and sizes, in bytes; 0: none. */
    uint64_t host_alignment;
    char description[128];
    char uuid[64];
    char pci[32];

    /* -- since 1.1: limits of kernel arguments -- */

    /**
     * The alignment that arithmetic entries require of reference offsets, in bytes: a power of two;
     * 0 or 1: that of the element size. For an operand with another offset ferry computes on the
     * host and counts a fallback. memcpy and memset have to accept every offset.
     */
    uint64_t offset_alignment;
    /**
     * The number of bytes from a reference that a kernel can access, if blocks may be larger; 0:
     * the whole block. ferry allocates no larger block; its error message gives both numbers.
     * `ferry check` requires at least 16 MiB.
     */
    uint64_t max_binding;
} ferry_plugin_properties;

/** Flags of alloc and host_alloc, and of *out_flags. */
/**
 * Input: the caller needs zeros. The plugin may return fresh zero pages; otherwise ferry fills the
 * block.
 */
#define FERRY_ALLOC_ZERO 1u
/** Output: the whole block already reads as zeros [rule 25]. */
#define FERRY_ALLOC_WAS_ZEROED 1u

/** Directions of memcpy. Both sides of D2D are the device of the call. */
#define FERRY_MEMCPY_H2D 1u
#define FERRY_MEMCPY_D2H 2u
#define FERRY_MEMCPY_D2D 3u

/** Operations, as arguments of `supports`. Values never change. */
#define FERRY_OP_AXPY    0u
#define FERRY_OP_SCAL    1u
#define FERRY_OP_COPY    2u
#define FERRY_OP_FILL    3u
#define FERRY_OP_CONVERT 4u
#define FERRY_OP_DOT     5u
#define FERRY_OP_ASUM    6u
#define FERRY_OP_SUMSQ   7u
#define FERRY_OP_GEMV    8u
#define FERRY_OP_GEMM    9u
#define FERRY_OP_COUNT   10u

/** Types of option values. */
#define FERRY_OPTION_STRING 0u
#define FERRY_OPTION_INT    1u
#define FERRY_OPTION_REAL   2u
#define FERRY_OPTION_BOOL   3u /* yes, no */
#define FERRY_OPTION_SIZE   4u /* bytes, with KiB, MiB, GiB */
#define FERRY_OPTION_ENUM   5u /* one of the words in `values` */

/** One option of a plugin. `ferry plugins -v` lists the options. */
typedef struct ferry_plugin_option {
    const char *name;          /* "devices" for option.devices */
    const char *default_value; /* as written in the configuration; "" without a default */
    const char *description;   /* one line */
    const char *values;        /* FERRY_OPTION_ENUM: "on|off|auto"; else NULL */
    uint32_t type;
    uint32_t reserved;
} ferry_plugin_option;

/**
 * The plugin's counters, for leak checks: objects that exist now, and operations since the device
 * was opened; exact while other threads call entries [rule 54].
 */
typedef struct ferry_plugin_counters {
    uint32_t struct_size; /* set by ferry, as in ferry_plugin_properties */
    uint32_t reserved;
    uint64_t live_blocks, live_bytes; /* device blocks from alloc */
    uint64_t live_host_blocks;        /* blocks from host_alloc */
    uint64_t live_imports, live_maps, live_queues, live_events;
    uint64_t copies_h2d, copies_d2h, copies_d2d, bytes_h2d, bytes_d2h, bytes_d2d;
    uint64_t maps, unmaps, memsets, ops;
} ferry_plugin_counters;

FERRY_END_DECLS

#endif
