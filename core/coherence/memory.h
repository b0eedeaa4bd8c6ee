/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a memory, for memory.c, replica.c and pending.c, and what blob.c may ask of
 * memory_blob.c beyond the public functions. Blobs never look at masks or replicas.
 */
#ifndef FERRY_CORE_MEMORY_H
#define FERRY_CORE_MEMORY_H

#include "core/device/queue.h"
#include "core/coherence/sharers.h"

#include <ferry/memory.h>

/*
 * Work that may still be running on a replica: what is before an event; and whatever the program
 * submits to the queue of its access, for which an event is recorded only when somebody has to wait.
 * After that it may go on to read there: its reference is valid as long as the copy is.
 */
struct ferry__use {
    ferry_event *event;
    ferry_queue *queue;
    bool write;   /* before the event; where there is none yet, from the access on */
    bool program; /* there may be more of it than the event knows */
};

struct ferry__uses {
    unsigned count, room;
    struct ferry__use at[];
};

enum ferry__storage {
    FERRY__STORAGE_NONE = 0,
    FERRY__STORAGE_POOL,     /* a device's block */
    FERRY__STORAGE_PINNED,   /* host memory from `block_of`'s host_alloc */
    FERRY__STORAGE_ADOPTED,  /* the program's */
    FERRY__STORAGE_IMPORTED, /* the host's block under a handle of the device */
    FERRY__STORAGE_EMPTY     /* of a memory of 0 bytes */
};

/* How adopted memory is given back. */
struct ferry__adopted {
    ferry_deleter deleter;
    void *arg;
    struct ferry__adopted *next; /* once it was let go: in a struct ferry__after_unlock */
};

/*
 * One copy: the host's, or a device's. On a host-memory device that shares the host's block
 * (memory.alias), it is the host's replica that stands for both.
 */
struct ferry__replica {
    ferry_ref ref;   /* handle NULL: no storage */
    size_t capacity; /* bytes of storage */
    size_t filled;   /* leading bytes that are the contents, while the copy is valid */
    struct ferry__uses *uses;
    union {
        ferry_device *owner;            /* of a block: whose allocator made it; retained so, too */
        struct ferry__adopted *adopted; /* of the program's memory: how it goes; NULL: borrowed */
    };
    uint8_t storage;
    uint8_t readonly;
    uint8_t slot;
    uint8_t adopted_at; /* FERRY__STORAGE_ADOPTED: the slot that it was adopted for */
};

/* A device's replica, in a list. */
struct ferry__device_replica {
    struct ferry__replica r;
    ferry_device *device; /* retained */
    struct ferry__device_replica *next;
};

/*
 * state: bits 0 … 30 the valid copies V (0: the host); bit 31 + s: something writes, or has to be
 * looked at, before slot s is read; bit 62: something reads somewhere, so that writes have to look.
 */
#define FERRY__VALID(s)   (UINT64_C(1) << (s))
#define FERRY__SLOW(s)    (UINT64_C(1) << (31 + (s)))
#define FERRY__READERS    (UINT64_C(1) << 62)
#define FERRY__VALID_MASK ((UINT64_C(1) << 31) - 1)

struct ferry_memory {
    _Atomic uint64_t state;
    void *host;                 /* the host's pointer, while its copy is valid */
    ferry_ref home_ref;         /* the home's reference, while its copy is valid */
    ferry_device *home;         /* retained */
    ferry_device *alias_device; /* of `alias`; retained unless it is the home */
    atomic_int refs;
    int8_t lost; /* the code with which the last valid copy went; 0: none has */
    uint8_t home_slot;
    uint8_t alias;  /* slot of the device whose copy shares the host's bytes; 0: none */
    uint8_t mapped; /* FERRY_READ, FERRY_WRITE: what the host may do with imported bytes now */
    uint8_t idle;   /* wont_use: may be evicted */
    uint8_t sliced; /* some blob is a slice of it */
    size_t size;    /* capacity, bytes */
    size_t used;    /* bytes in use */
    pthread_mutex_t lock;
    atomic_uint locked_in; /* ferry__forks, when it last was */
    ferry_event *busy;     /* of a queue that an access did not want to wait for; NULL: none */
    struct ferry__replica on_host;
    struct ferry__device_replica *on_devices;
    struct ferry__sharers *sharers;        /* NULL until blobs share it */
    char *name;                            /* for traces and logs; may be NULL */
    ferry_memory *idle_before, *idle_next; /* evict.c's list, while idle */
};

/* ---- for blob.c ---- */

/*
 * `who`, a half of a blob known by its address, uses the first `end` bytes from now on, which are
 * within the capacity. The bytes in use are what the furthest of its blobs needs, and do not shrink
 * while somebody else, of whom nobody knows how much they need, holds a reference. Copies too short
 * for a larger use leave V if another covers it; otherwise the tail reads as zeros.
 */
void ferry__memory_set_used(ferry_memory *m, const void *who, size_t end);

/*
 * A blob's half comes to use a memory that is `owner`'s; the caller takes the reference. ENOMEM: as
 * before.
 */
int ferry__memory_share(ferry_memory *m, const void *owner, size_t owner_end, const void *who,
                        size_t end);

/* A blob's half is done with it: releases its reference, if there is one. */
void ferry__memory_leave(ferry_memory *m, const void *who);

/*
 * Whether `bytes` from offset 0 are all that anybody uses, so that writing them writes the whole.
 */
static inline bool ferry__memory_covers(const ferry_memory *m, size_t offset, size_t bytes)
{
    return offset == 0 && bytes >= m->used;
}

/*
 * V, to go back to after an operation on the contents failed: what a plugin said it did not do
 * leaves the copies that were valid as they were. `where` (NULL: the host) is the copy that was
 * operated on; unless it is `intact`, it stays valid only if no other is.
 */
uint32_t ferry__memory_mark(const ferry_memory *m);
void ferry__memory_restore(ferry_memory *m, uint32_t mark, const ferry_device *where, bool intact);

/* Some blob is a slice of it from now on. */
void ferry__memory_set_sliced(ferry_memory *m);

/* Moves the home. */
int ferry__memory_to(ferry_memory *m, ferry_device *home);

/* Names the memory in traces; NULL takes the name away. */
int ferry__memory_set_name(ferry_memory *m, const char *name, const char *suffix);

/* Whether others than the caller hold references. */
static inline bool ferry__memory_shared(const ferry_memory *m)
{
    return atomic_load_explicit(&m->refs, memory_order_acquire) > 1;
}

/* As the public accessors, and inlined: the settled case is one acquire load. */
void *ferry__memory_host_slow(ferry_memory *m, unsigned access);
ferry_ref ferry__memory_device_slow(ferry_memory *m, unsigned access);

/* Whether m->host, or m->home_ref, may be used for that access as things stand. */
static inline bool ferry__memory_host_settled(const ferry_memory *m, unsigned access)
{
    uint64_t s = atomic_load_explicit(&((ferry_memory *)m)->state, memory_order_acquire);

    if (access == FERRY_READ)
        return (s & (FERRY__VALID(0) | FERRY__SLOW(0))) == FERRY__VALID(0);
    return (s & (FERRY__VALID_MASK | FERRY__SLOW(0) | FERRY__READERS)) == FERRY__VALID(0);
}

static inline bool ferry__memory_device_settled(const ferry_memory *m, unsigned access)
{
    uint64_t s = atomic_load_explicit(&((ferry_memory *)m)->state, memory_order_acquire);
    unsigned h = m->home_slot;

    if (access == FERRY_READ)
        return (s & (FERRY__VALID(h) | FERRY__SLOW(h))) == FERRY__VALID(h);
    return (s & (FERRY__VALID_MASK | FERRY__SLOW(h) | FERRY__READERS)) == FERRY__VALID(h);
}

static inline void *ferry__memory_host(ferry_memory *m, unsigned access)
{
    return ferry__memory_host_settled(m, access) ? m->host : ferry__memory_host_slow(m, access);
}

static inline ferry_ref ferry__memory_device(ferry_memory *m, unsigned access)
{
    return ferry__memory_device_settled(m, access) ? m->home_ref
                                                   : ferry__memory_device_slow(m, access);
}

/*
 * Where work on the contents should run, as §4 of the design has it: the host's copy is the newest
 * → *out NULL; a device's is → the home if valid there, else the lowest valid slot. FERRY_EUNINIT
 * if never written (no message: the caller knows what that means).
 */
int ferry__memory_whereabouts(const ferry_memory *m, ferry_device **out);

#endif
