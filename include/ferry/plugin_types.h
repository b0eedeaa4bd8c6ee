/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file plugin_types.h
 * What goes back and forth between ferry and a plugin: ferry's services, and the structures and
 * numbers that the entries of plugin.h take and give.
 *
 * Included by plugin.h, which has the rules.
 */
#ifndef FERRY_PLUGIN_TYPES_H
#define FERRY_PLUGIN_TYPES_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/* ---- What ferry offers to a plugin ---- */

/** Services of ferry. The table lives as long as the process. */
typedef struct ferry_host {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor;
    uint32_t reserved;
    /**
     * Says why the entry that is running on this thread fails: the vendor's call and its error by
     * name ("clEnqueueWriteBuffer: CL_OUT_OF_RESOURCES"). ferry adds plugin, device, operation and
     * bytes. Returns `code`, so that an entry may `return host->error(FERRY_EDEVICE, …)`. Code
     * FERRY_ELOST marks the device as lost for good.
     */
    int (*error)(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);
    /** Writes a line to ferry's log at FERRY_LOG_…. Any thread, also the plugin's own. */
    void (*log)(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
    /**
     * The value of this plugin's "option.KEY", else of its core key of that name ("pool_limit", for
     * a plugin that keeps memory itself), or NULL where none was set; lives as long as the process.
     * Only inside ferry_plugin_open, device_count, properties, device_open and adopt, on the thread
     * that ferry called.
     */
    const char *(*option)(const char *key);

    /* -- since 1.1: options by their types, and places; where and on which thread as option -- */

    /**
     * The value of this plugin's "option.KEY" as a whole number from `least` to `most`. Where none was
     * set *out stays as it is: it holds the default. FERRY_ECONF for what is no such number; host->error
     * has been told, with the value and where it was set, and the entry that asked returns the code.
     */
    int (*option_integer)(const char *key, int64_t least, int64_t most, int64_t *out);
    /** The same: a finite number from `least` to `most`. */
    int (*option_real)(const char *key, double least, double most, double *out);
    /** The same: 1 for yes, on, true and 1, 0 for no, off, false and 0, in any case of letters. */
    int (*option_boolean)(const char *key, uint32_t *out);
    /** The same: bytes, as "4096", "512MiB" or "1.5 GiB", from `least` to `most`. */
    int (*option_size)(const char *key, uint64_t least, uint64_t most, uint64_t *out);
    /** The same: one of the words in "on|off|auto", as its number, from 0. */
    int (*option_enum)(const char *key, const char *words, uint32_t *out);
    /**
     * Stores the path of a folder that only the user may write, for files that this plugin keeps from
     * one run to the next: ferry/NAME in $XDG_CACHE_HOME or ~/.cache, made if it is not there. Files of
     * another machine, driver or version may be there, and any may be gone. FERRY_EUNSUPPORTED where
     * there is to be none: no home, a folder that others may write, or a program with more rights than
     * its caller; FERRY_EINVAL where `size` is too small.
     */
    int (*cache_folder)(char *out, uint64_t size);
    /**
     * Memory of the device for the work that the running entry puts on its queue, from ferry's pool: at
     * least `bytes` > 0 bytes, aligned as alloc's, with nothing in particular in them. Only inside an
     * entry that takes a queue, of a device that says FERRY_DEVICE_SCRATCH, on the thread that ferry
     * called: FERRY_EINVAL elsewhere. Nobody frees it: when the entry returns it goes to later entries of
     * the same queue, whose work comes after; the queue keeps it until it ends or ferry_device_trim. An
     * entry may take several. ferry may call alloc, free, trim, the event entries and queue_synchronize
     * meanwhile: hold no lock that they take. FERRY_ENOMEM where there is no room, within the budget too;
     * host->error has been told.
     */
    int (*scratch)(uint64_t bytes, void **out_handle);
} ferry_host;

/* ---- What a plugin says of its devices ---- */

/** Flags of ferry_plugin_properties. */
/** Handles are host pointers, usable by the program as they are. */
#define FERRY_DEVICE_HOST_MEMORY 1u
/** Shares physical memory with the host; ferry probes before it believes. */
#define FERRY_DEVICE_UNIFIED 2u
/** Entries may be called concurrently even on one queue. */
#define FERRY_DEVICE_CONCURRENT 4u
/** Alloc and free are ordered on their queue and cheap; no pool on top. */
#define FERRY_DEVICE_ORDERED_ALLOC 8u
/** Handles are pointers of the device: handle + offset is meaningful to it. */
#define FERRY_DEVICE_POINTERS 16u
/**
 * Computes on the host's own processors, though behind an interface for accelerators: chosen by name,
 * or where nothing else is left, since whatever works in the host's memory does that work directly.
 */
#define FERRY_DEVICE_HOST_PROCESSORS 32u
/** Its entries use host->scratch; ferry notes for which queue it calls one. Since 1.1. */
#define FERRY_DEVICE_SCRATCH 64u
/**
 * Its driver may copy at map and unmap. ferry measures a device with this and FERRY_DEVICE_UNIFIED when it
 * is opened, and uses it as a discrete one where they take as long as copies. Since 1.1.
 */
#define FERRY_DEVICE_MAP_MAY_COPY 128u

/**
 * What a device is; ferry sets struct_size and zeroes the rest before the call. Unknown: 0 or "".
 */
typedef struct ferry_plugin_properties {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t memory_total; /* bytes */
    uint64_t max_alloc;    /* bytes of the largest single block */
    /** Devices of this plugin with equal nonzero values can wait for one another's events. */
    uint64_t sync_domain;
    /** What import_host wants of a pointer and of a size, in bytes; 0: anything. */
    uint64_t host_alignment;
    char description[128];
    char uuid[64];
    char pci[32];

    /* -- since 1.1: what kernels can be bound to -- */

    /**
     * What the offsets of all references are multiples of that arithmetic gets, in bytes: a power of
     * two; 0 or 1: whatever an element's size allows. ferry computes on the host where it has another,
     * and counts a fallback. memcpy and memset are asked for any offset.
     */
    uint64_t offset_alignment;
    /**
     * Bytes that a kernel reaches from one reference at the most, where blocks could be larger; 0: a
     * whole block. ferry asks for no larger block, and says both numbers. `ferry check` wants 16 MiB.
     */
    uint64_t max_binding;
} ferry_plugin_properties;

/** Flags of alloc and host_alloc, and what they answer in *out_flags. */
/** In: zeros are wanted; fresh zero pages are welcome, filling is ferry's business. */
#define FERRY_ALLOC_ZERO 1u
/** Out: the whole block reads as zeros already. */
#define FERRY_ALLOC_WAS_ZEROED 1u

/** Kinds of memcpy. Device means the device of the call, on both sides of D2D. */
#define FERRY_MEMCPY_H2D 1u
#define FERRY_MEMCPY_D2H 2u
#define FERRY_MEMCPY_D2D 3u

/** Operations that `supports` is asked about. Values never change. */
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

/** Types of an option's value. */
#define FERRY_OPTION_STRING 0u
#define FERRY_OPTION_INT    1u
#define FERRY_OPTION_REAL   2u
#define FERRY_OPTION_BOOL   3u /* yes, no */
#define FERRY_OPTION_SIZE   4u /* bytes, with KiB, MiB, GiB */
#define FERRY_OPTION_ENUM   5u /* one of the words in `values` */

/** One option of a plugin, as `ferry plugins -v` documents it. */
typedef struct ferry_plugin_option {
    const char *name;          /* "devices", for option.devices */
    const char *default_value; /* as it would be written; "" if there is none */
    const char *description;   /* one line */
    const char *values;        /* FERRY_OPTION_ENUM: "on|off|auto"; else NULL */
    uint32_t type;
    uint32_t reserved;
} ferry_plugin_option;

/**
 * The plugin's own account, for leak checks: what exists now, and what it was asked to move since
 * the device was opened.
 */
typedef struct ferry_plugin_counters {
    uint32_t struct_size; /* set by ferry, as in ferry_plugin_properties */
    uint32_t reserved;
    uint64_t live_blocks, live_bytes; /* device blocks of alloc */
    uint64_t live_host_blocks;        /* of host_alloc */
    uint64_t live_imports, live_maps, live_queues, live_events;
    uint64_t copies_h2d, copies_d2h, copies_d2d, bytes_h2d, bytes_d2h, bytes_d2d;
    uint64_t maps, unmaps, memsets, ops;
} ferry_plugin_counters;

FERRY_END_DECLS

#endif
