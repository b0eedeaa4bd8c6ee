/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Storage of a memory's replicas: address, owner, and sharing between host and device. It does not
 * know which copies are valid. The memory's lock is held.
 */
#ifndef FERRY_CORE_REPLICA_H
#define FERRY_CORE_REPLICA_H

#include "core/coherence/state.h"

/* Deleters of released memory, latest first, to be run once no lock is held. */
struct ferry__after_unlock {
    struct ferry__adopted *first;
};

/* Runs the deleters and empties the list. */
void ferry__after_unlock_run(struct ferry__after_unlock *after);

/* Moves the deleters to `to`. */
void ferry__after_unlock_move(struct ferry__after_unlock *to, struct ferry__after_unlock *from);

/*
 * The deleters of blocks that this thread has evicted. They are deferred because the access that
 * needed the room may hold a memory's lock. finish runs them if the thread holds no core lock; it
 * is called after a memory's lock was released.
 */
struct ferry__after_unlock *ferry__after_unlock_owed(void);
void ferry__after_unlock_finish(void);

/*
 * The replica of a slot; NULL if that device never had one. An aliased host-memory device has the
 * host's replica.
 */
struct ferry__replica *ferry__replica_find(ferry_memory *m, unsigned slot);

/* The device of a slot that has a replica; NULL for the host. */
ferry_device *ferry__replica_device(ferry_memory *m, unsigned slot);

/*
 * Finds or adds the replica of a device, without storage. NULL, with the error recorded, when
 * memory is short.
 */
struct ferry__replica *ferry__replica_of(ferry_memory *m, ferry_device *where);

/*
 * Gives the replica storage, if it has none or less than ferry__memory_wanted: of the memory's
 * whole capacity, or, if the device could not hold that by itself, of the bytes in use. The storage
 * is usable on `q` from its next work on (host: at once, `q` NULL). *fresh: the storage was
 * allocated by this call. *zeroed on entry: zeros are wanted; on return: the new storage reads as
 * zeros.
 */
int ferry__replica_provide(ferry_memory *m, struct ferry__replica *r, ferry_device *where,
                           ferry_queue *q, bool *zeroed, bool *fresh,
                           struct ferry__after_unlock *after);

/* Waits for the pending work on the storage, and frees it. */
void ferry__replica_drop(ferry_memory *m, struct ferry__replica *r,
                         struct ferry__after_unlock *after);

/*
 * Gives up a read-only block whose copy is not valid any more, since other contents have to be
 * stored there.
 */
void ferry__replica_drop_readonly(ferry_memory *m, struct ferry__replica *r, uint32_t valid,
                                  struct ferry__after_unlock *after);

/*
 * Takes the program's memory, adopted for `slot`, as the storage; there must be no other.
 * `adopted`, its deleter (NULL: borrowed), was allocated by the caller and belongs to the replica
 * from then on.
 */
void ferry__replica_take(struct ferry__replica *r, ferry_ref ref, size_t bytes, unsigned slot,
                         bool readonly, struct ferry__adopted *adopted);

/* Moves the home; returns the former one, which the caller has to release. */
ferry_device *ferry__replica_move_home(ferry_memory *m, ferry_device *home);

/* Whether an aliased slot shares the host's replica, whose handle is the host's pointer. */
static inline bool ferry__replica_is_host_pointer(const ferry_memory *m, unsigned slot)
{
    return slot && m->alias == slot && m->alias_device &&
           ferry__device_is(m->alias_device, FERRY_DEVICE_HOST_MEMORY);
}

/* Whether the host and a host-memory device share one block under one pointer. */
static inline bool ferry__replica_one_pointer(const ferry_memory *m)
{
    return ferry__replica_is_host_pointer(m, m->alias);
}

/*
 * The number of leading bytes of the slot's copy that are contents, while it is valid. Shared bytes
 * have a count for each side: bytes that a side has never had are missing on that side only.
 */
static inline size_t *ferry__replica_filled(ferry_memory *m, unsigned slot)
{
    return ferry__replica_is_host_pointer(m, slot) ? &m->alias_filled
                                                   : &ferry__replica_find(m, slot)->filled;
}

/* The largest number of bytes of contents among these copies. */
size_t ferry__replica_longest(ferry_memory *m, uint32_t slots);

/* Whether the two slots are the same bytes: the host and the device it is aliased with. */
static inline bool ferry__replica_shares(const ferry_memory *m, unsigned a, unsigned b)
{
    return m->alias && ((a == FERRY__HOST && b == m->alias) || (b == FERRY__HOST && a == m->alias));
}

/*
 * Whether host and aliased device need map and unmap between them (imported memory), not just one
 * pointer.
 */
static inline bool ferry__replica_is_imported(const ferry_memory *m, unsigned slot)
{
    return slot && m->alias == slot && !ferry__replica_is_host_pointer(m, slot);
}

/* Sets the device whose copy shares the host's bytes; NULL: no device. */
void ferry__replica_set_alias(ferry_memory *m, ferry_device *dev);

/*
 * Ends the sharing between the host and a host-memory device: an adopted block stays with the side
 * that it was adopted for, and the other is left without storage. After FERRY_ENOMEM nothing has
 * changed.
 */
int ferry__replica_separate(ferry_memory *m);

/*
 * Lets a home that shares the host's memory import the block that the host has just got, while no
 * thread has a pointer to it yet. Silent if it cannot.
 */
void ferry__replica_share_host(ferry_memory *m, struct ferry__after_unlock *after);

/* Lets a device alias the host's block, or the other way round, if possible. Reports no error. */
void ferry__replica_try_alias(ferry_memory *m, ferry_device *where,
                              struct ferry__after_unlock *after);

/*
 * Hands imported bytes over: `want` is the host's access afterwards: 0 (the device has them),
 * FERRY_READ, or FERRY_READ|FERRY_WRITE. Waits for work that has to be done before.
 */
int ferry__replica_map(ferry_memory *m, unsigned want);

/* Frees all replicas. */
void ferry__replica_drop_all(ferry_memory *m, struct ferry__after_unlock *after);

#endif
