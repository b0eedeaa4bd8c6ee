/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A short path for arithmetic on small blobs, where the usual search for the newest copy takes
 * longer than the arithmetic: the home computes synchronously in the host's memory, so that host
 * and home share the same bytes.
 */
#ifndef FERRY_CORE_AT_ONCE_H
#define FERRY_CORE_AT_ONCE_H

#include "core/blob/blob.h"
#include "core/math/mathcall.h"

/*
 * Whether the memory's home computes synchronously in the host's memory, and is known to offer `op`
 * for the blob's dtype and number of elements.
 */
static inline bool ferry__at_once(const ferry_blob *b, const ferry_memory *m, uint32_t op)
{
    return b->shape.count > 0 && b->shape.count <= FERRY__MATH_SPLIT &&
           ferry__device_is(m->home, FERRY_DEVICE_HOST_MEMORY) && !m->home->events &&
           ferry__math_ready(m->home, op, (ferry_dtype)b->dtype);
}

/*
 * Chooses the side whose bytes can be read and written without the lock: the host, or else the
 * home. Changes nothing. False if the access has to take the lock.
 */
static inline bool ferry__at_once_side(const ferry_memory *m, bool *at_host)
{
    const unsigned access = FERRY_READ | FERRY_WRITE;

    *at_host = ferry__memory_host_settled(m, access);
    return *at_host || ferry__memory_device_settled(m, access) || ferry__memory_can_flip(m);
}

/*
 * Enters the chosen side to read and write: returns the memory's start there. The caller counts the
 * write. False, and nothing has changed, if another thread intervened.
 */
static inline bool ferry__at_once_enter(ferry_memory *m, bool at_host, ferry_ref *out)
{
    if (!at_host && !ferry__memory_device_settled(m, FERRY_READ | FERRY_WRITE) &&
        !ferry__memory_flip(m, m->home_slot, FERRY_READ | FERRY_WRITE))
        return false;
    *out = at_host ? (ferry_ref){ m->host, 0 } : m->home_ref;
    return true;
}

/* Enters the chosen side to read only. */
static inline bool ferry__at_once_read(ferry_memory *m, bool at_host, ferry_cref *out)
{
    if (at_host ? !ferry__memory_host_at_once(m, FERRY_READ)
                : !ferry__memory_device_at_once(m, FERRY_READ))
        return false;
    *out = at_host ? (ferry_cref){ m->host, 0 } : ferry_ref_const(m->home_ref);
    return true;
}

#endif
