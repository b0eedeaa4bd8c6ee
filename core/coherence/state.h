/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of a memory: its replicas, the word with the set of valid ones, and the pending
 * work on them. For this room alone; other rooms use memory.h.
 */
#ifndef FERRY_CORE_STATE_H
#define FERRY_CORE_STATE_H

#include "core/device/queue.h"

#include <ferry/memory.h>

/*
 * Work that may still use a replica: all work before `event`; and if `program`, also work that the
 * caller submits later to `queue`, for which an event is recorded only when a thread has to wait.
 * After that the program may continue to read: its reference is valid as long as the copy is.
 *
 * An event may be noted on any number of replicas, and each of them fails with it.
 */
struct ferry__use {
    ferry_event *event;
    ferry_queue *queue;
    uint64_t since; /* for the program's use: the number of its queue's events at its access; else
                     * UINT64_MAX */
    bool write;     /* the work writes: before the event, or, without an event, from the access
                     * on */
    bool program;   /* there may be later work that the event does not cover */
    bool blameless; /* its failure is not attributed to this replica */
};

/*
 * The uses that a new access has to be ordered after, and in `past` the writers that those were
 * ordered after themselves, oldest first: no access waits for those, but their failure is a failure
 * of the replica too.
 */
struct ferry__uses {
    unsigned count, room;
    unsigned past_first, past_count, past_room;
    struct ferry__use *past;
    struct ferry__use at[];
};

enum ferry__storage {
    FERRY__STORAGE_NONE = 0,
    FERRY__STORAGE_POOL,     /* a device's block */
    FERRY__STORAGE_PINNED,   /* host memory from `block_of`'s host_alloc */
    FERRY__STORAGE_ADOPTED,  /* memory of the program */
    FERRY__STORAGE_PLAIN,    /* host memory from malloc: its device is lost */
    FERRY__STORAGE_IMPORTED, /* the host's block under a handle of the device */
    FERRY__STORAGE_EMPTY     /* the storage of a memory of 0 bytes */
};

/* How adopted memory is given back. */
struct ferry__adopted {
    ferry_memory_deleter deleter;
    void *arg;
    struct ferry__adopted *next; /* after the release: the next in a struct ferry__after_unlock */
};

/*
 * One copy: the host's, or a device's. Where a host-memory device shares the host's block
 * (memory.alias), the host's replica represents both.
 */
struct ferry__replica {
    ferry_ref ref;   /* handle NULL: no storage */
    size_t capacity; /* bytes of storage; of a valid copy, at least the bytes in use */
    size_t filled;   /* leading bytes that are the contents, while the copy is valid */
    struct ferry__uses *uses;
    union {
        ferry_device *owner;            /* for a block: the device that allocated it; retained */
        struct ferry__adopted *adopted; /* for memory of the program: its deleter; NULL: borrowed */
    };
    uint8_t storage;
    uint8_t readonly;
    uint8_t failed; /* it left V because its writer had failed; 0 once it is valid again */
    uint8_t slot;
    uint8_t adopted_at; /* FERRY__STORAGE_ADOPTED: the slot that it was adopted for */
};

/* A device's replica, in a list. */
struct ferry__device_replica {
    struct ferry__replica r;
    ferry_device *device; /* retained */
    struct ferry__device_replica *next;
};

/* A node of idle.c's list. */
struct ferry__idle_node {
    struct ferry__idle_node *before, *next;
    ferry_memory *memory; /* NULL: the position of an iteration */
    uint64_t promise;     /* the number of the ferry_memory_allow_eviction call, over all
                           * memories */
};

/*
 * state: bits 0 … 30: the valid copies V (bit 0: the host). Bit 31 + s: a read of slot s has to
 * take the lock, for example because a write is pending. Bit 62: reads are pending, so that writes
 * have to take the lock. Bit 63, with V empty: the last copy was lost. Bit 63, with V not empty:
 * only host and home have copies, which are the same bytes under one pointer, all of them in use
 * and without pending work; an access to either side changes only this word (ferry__memory_flip).
 */
#define FERRY__VALID(s)   (UINT64_C(1) << (s))
#define FERRY__SLOW(s)    (UINT64_C(1) << (31 + (s)))
#define FERRY__READERS    (UINT64_C(1) << 62)
#define FERRY__LOST       (UINT64_C(1) << 63)
#define FERRY__TURNS      FERRY__LOST
#define FERRY__VALID_MASK ((UINT64_C(1) << 31) - 1)

static inline uint32_t ferry__valid_bit(unsigned slot)
{
    return UINT32_C(1) << slot;
}

/* At most 256 bytes with malloc's header, because each half of each blob has one. */
struct ferry_memory {
    _Atomic uint64_t state;
    void *host;                 /* the host's pointer, while its copy is valid */
    ferry_ref home_ref;         /* the home's reference, while its copy is valid */
    ferry_device *home;         /* retained */
    ferry_device *alias_device; /* the device of slot `alias`; retained unless it is the home */
    _Atomic uint64_t version;   /* the number of writes; writers exclude each other */
    atomic_int refs;
    int8_t lost; /* the code of the failure that lost the last valid copy; 0: not lost */
    uint8_t home_slot;
    uint8_t alias;  /* the slot of the device whose copy shares the host's bytes; 0: none */
    uint8_t mapped; /* FERRY_READ, FERRY_WRITE: the host's present access to imported bytes */
    uint8_t idle;   /* ferry_memory_allow_eviction: may be evicted */
    uint8_t sliced; /* a blob is a slice of the memory */
    atomic_bool tail_lost; /* a failed copy had contents beyond those of the longest valid copy;
                            * until they are written, every access takes the lock */
    atomic_bool is_short;  /* a copy may have storage for less than `size` */
    atomic_uint locked_in; /* ferry__forks when `lock` was last taken */
    size_t size;           /* capacity, bytes */
    size_t used;           /* bytes in use */
    pthread_mutex_t lock;
    struct ferry__replica on_host;
    size_t alias_filled; /* as on_host.filled, for the device that shares the host's pointer */
    struct ferry__device_replica *on_devices;
    struct ferry__sharers *sharers;    /* private to memory_blob.c; NULL until blobs share it */
    char *name;                        /* for traces and logs; may be NULL */
    struct ferry__idle_node idle_node; /* private to idle.c, while idle */
};

/* The bytes of storage that a copy has to have: the capacity, unless a copy has got less. */
static inline size_t ferry__memory_wanted(const ferry_memory *m)
{
    return m->is_short ? m->used : m->size;
}

/* Counts a write. The caller excludes concurrent writes. */
static inline void ferry__memory_count_write(ferry_memory *m)
{
    uint64_t before = atomic_load_explicit(&m->version, memory_order_relaxed);

    atomic_store_explicit(&m->version, before + 1, memory_order_relaxed);
}

/*
 * Counts a write that leaves one valid copy; contents that were lost beyond it are given up. The
 * lock is held.
 */
static inline void ferry__memory_renew(ferry_memory *m)
{
    m->tail_lost = false;
    ferry__memory_count_write(m);
}

/* The published V. */
static inline uint32_t ferry__coherence_valid(const ferry_memory *m)
{
    return (uint32_t)(atomic_load_explicit(&m->state, memory_order_acquire) & FERRY__VALID_MASK);
}

#endif
