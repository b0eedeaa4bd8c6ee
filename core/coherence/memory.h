/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services of a memory for blob.c, beyond the public functions. Blobs never look at masks or
 * replicas.
 */
#ifndef FERRY_CORE_MEMORY_H
#define FERRY_CORE_MEMORY_H

#include "core/coherence/state.h"

/*
 * Sets the number of leading bytes, at most the capacity, that a half of a blob uses; `who` is the
 * address of the half. The bytes in use are the largest range that any of its blobs needs, and do
 * not shrink while the program holds a reference of its own. Copies that are too short leave V if
 * another copy is long enough; otherwise the tail reads as zeros.
 */
void ferry__memory_set_used(ferry_memory *m, const void *who, size_t end);

/*
 * A half of a blob begins to use a memory of `owner`; the caller takes the reference. FERRY_ENOMEM:
 * nothing has changed.
 */
int ferry__memory_share(ferry_memory *m, const void *owner, size_t owner_end, const void *who,
                        size_t end);

/* A half of a blob stops using the memory: releases its reference, if there is one. */
void ferry__memory_leave(ferry_memory *m, const void *who);

/*
 * The number of bytes that may be in use in this memory: its capacity, or the largest storage of a
 * valid copy if that is smaller.
 */
size_t ferry__memory_room(ferry_memory *m);

/* The number of leading bytes that every valid copy has, if no work on any is pending; else 0. */
size_t ferry__memory_reach(const ferry_memory *m, uint64_t state);

/*
 * Whether a blob that is the only user of its memory may use the first `end` bytes of it without
 * taking the lock: each valid copy has them, and no work is pending. The caller already excludes
 * other threads during a reshape.
 */
static inline bool ferry__memory_fits_alone(const ferry_memory *m, size_t end)
{
    uint64_t s = atomic_load_explicit(&((ferry_memory *)m)->state, memory_order_acquire);
    size_t reach;

    if (s == FERRY__VALID(FERRY__HOST))
        reach = m->on_host.filled;
    else if (s == FERRY__VALID(m->home_slot)) /* the host's bytes, or a copy in on_devices */
        reach = m->alias_filled;
    else
        reach = ferry__memory_reach(m, s);
    return end <= reach && !m->sharers && !m->on_devices &&
           atomic_load_explicit(&((ferry_memory *)m)->refs, memory_order_acquire) == 1;
}

static inline void ferry__memory_use_alone(ferry_memory *m, size_t end)
{
    uint64_t s = atomic_load_explicit(&m->state, memory_order_relaxed);

    if (end == m->used)
        return;
    m->used = end;
    if (s & FERRY__TURNS) /* the next access looks at both sides again */
        atomic_store_explicit(&m->state, s & ~FERRY__TURNS, memory_order_release);
}

/*
 * Whether `bytes` from offset 0 are all bytes in use, so that writing them writes the whole
 * contents.
 */
static inline bool ferry__memory_covers(const ferry_memory *m, size_t offset, size_t bytes)
{
    return offset == 0 && bytes >= m->used;
}

/*
 * Returns V, and whether its last copy or a tail was lost. After an operation that failed without
 * effect, ferry__memory_restore makes these copies valid again. `where` (NULL: the host) is the
 * copy that was operated on; unless it is `intact`, it stays valid only if there is no other.
 */
uint64_t ferry__memory_mark(const ferry_memory *m);
/*
 * After a larger use was given up: the copies that left V for being too short are valid again, as
 * far as they are still there (they may have been evicted meanwhile).
 */
void ferry__memory_regain(ferry_memory *m, uint64_t mark);
/*
 * Whether the copy at `where` is valid and has a tail that was never filled. An operation that may
 * be undone has to fill this tail first, even if it overwrites everything.
 */
bool ferry__memory_is_short(ferry_memory *m, const ferry_device *where);
/*
 * The number of leading bytes of contents in the copy at `where`, now or when it was last valid. An
 * operation that overwrites the copy and is undone restores this number (SIZE_MAX: unchanged).
 */
size_t ferry__memory_filled(ferry_memory *m, const ferry_device *where);
void ferry__memory_restore(ferry_memory *m, uint64_t mark, const ferry_device *where, bool intact,
                           size_t filled);

/* The copy at `where` (NULL: the host) was being written by work that failed with `code`. */
void ferry__memory_fail(ferry_memory *m, const ferry_device *where, int code);

/*
 * Checks that the bytes read at `where` by finished work were valid contents: 0, or the error that
 * an access there would return.
 */
int ferry__memory_check(ferry_memory *m, ferry_device *where);

/* Records that a blob is a slice of the memory. */
void ferry__memory_set_sliced(ferry_memory *m);

/* Makes another device the memory's home. */
int ferry__memory_to(ferry_memory *m, ferry_device *home);

/* Names the memory in traces; NULL removes the name. */
int ferry__memory_set_name(ferry_memory *m, const char *name, const char *suffix);

/* Whether others than the caller hold references. */
static inline bool ferry__memory_shared(const ferry_memory *m)
{
    return atomic_load_explicit(&m->refs, memory_order_acquire) > 1;
}

/* As the public accessors, and inlined: the settled case is one atomic load with acquire order. */
void *ferry__memory_host_slow(ferry_memory *m, unsigned access);
ferry_ref ferry__memory_device_slow(ferry_memory *m, unsigned access);

/* Whether m->host, or m->home_ref, may be used for that access in the present state. */
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

/* Whether the turn can be passed in the present state without the lock. */
static inline bool ferry__memory_turns(const ferry_memory *m, uint64_t s)
{
    uint64_t both = FERRY__VALID(FERRY__HOST) | FERRY__VALID(m->home_slot);

    return (s & both) && (s & ~both) == FERRY__TURNS && ferry__device_ready(m->home);
}

static inline bool ferry__memory_can_flip(const ferry_memory *m)
{
    return ferry__memory_turns(
        m, atomic_load_explicit(&((ferry_memory *)m)->state, memory_order_acquire));
}

/*
 * Passes the turn to the host or to the home without the lock, where no bytes move and no work is
 * pending. False: the access has to take the lock.
 *
 * The holder of the lock may publish the former turn meanwhile: both sides still are the same
 * bytes, and the next access of the other side passes the turn again.
 */
static inline bool ferry__memory_flip(ferry_memory *m, unsigned slot, unsigned access)
{
    uint64_t s = atomic_load_explicit(&m->state, memory_order_acquire);
    uint64_t both = FERRY__VALID(FERRY__HOST) | FERRY__VALID(m->home_slot);
    uint64_t turn = (access == FERRY_READ ? s & both : 0) | FERRY__VALID(slot) | FERRY__TURNS;

    return ferry__memory_turns(m, s) &&
           atomic_compare_exchange_strong_explicit(&m->state, &s, turn, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/*
 * Whether the access at the host, or at the home, needs no lock: it is settled, or passes the turn.
 * Then the result is m->host or m->home_ref, and a write has been counted.
 */
static inline bool ferry__memory_host_at_once(ferry_memory *m, unsigned access)
{
    if (!ferry__memory_host_settled(m, access) && !ferry__memory_flip(m, FERRY__HOST, access))
        return false;
    if (access & FERRY_WRITE)
        ferry__memory_count_write(m);
    return true;
}

static inline bool ferry__memory_device_at_once(ferry_memory *m, unsigned access)
{
    if (!ferry__memory_device_settled(m, access) && !ferry__memory_flip(m, m->home_slot, access))
        return false;
    if (access & FERRY_WRITE)
        ferry__memory_count_write(m);
    return true;
}

static inline void *ferry__memory_host(ferry_memory *m, unsigned access)
{
    return ferry__memory_host_at_once(m, access) ? m->host : ferry__memory_host_slow(m, access);
}

static inline ferry_ref ferry__memory_device(ferry_memory *m, unsigned access)
{
    return ferry__memory_device_at_once(m, access) ? m->home_ref
                                                   : ferry__memory_device_slow(m, access);
}

/*
 * Selects where work on the contents runs. If only the host's copy is valid, *out is NULL;
 * otherwise it is the home if its copy is valid, else the device of the lowest valid slot.
 * FERRY_EUNINIT if never written (no message: the caller knows what that means), FERRY_ELOST if the
 * contents are lost.
 */
int ferry__memory_whereabouts(const ferry_memory *m, ferry_device **out);

/* Whether the contents are valid in a place that is not known to be lost. False for NULL. */
bool ferry__memory_is_left(const ferry_memory *m);

/*
 * Notes ferry's own work on `q`, in a section that ended with `e` (NULL: nothing is pending): `to`
 * was written, from the contents of `from` (NULL: without a source). `whole`: all bytes in use were
 * overwritten, by work ordered after all earlier uses, so that a failure of those does not matter.
 * No lock is held. Cannot fail: it waits if memory for a record is short.
 */
void ferry__record_work(ferry_memory *to, ferry_memory *from, ferry_queue *q, ferry_event *e,
                        bool whole);

#endif
