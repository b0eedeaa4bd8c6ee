/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies between the replicas of one memory, and which of them to copy from. The memory's lock is
 * held.
 */
#ifndef FERRY_CORE_TRANSFER_H
#define FERRY_CORE_TRANSFER_H

#include "core/coherence/replica.h"
#include "core/device/trace.h"

/* The state of one access to one slot, passed through coherence.c and transfer.c. */
struct ferry__request {
    ferry_memory *m;
    ferry_device *where; /* NULL: the host */
    ferry_queue *q;      /* of `where`; NULL for the host */
    ferry_queue *hint;   /* a prefetch's queue, on whichever device it is; may be NULL */
    unsigned slot;
    unsigned access;
    bool prefetch; /* do not wait for a copy to the host */
    bool nowait;
    bool ordered;  /* `q` was ordered after uses whose records were removed */
    bool evicting; /* not an access by the program: the memory stays idle */
    enum ferry__reason reason;
    uint32_t valid; /* the V to be published on success */
    struct ferry__after_unlock after;
};

/*
 * Brings the newest bytes into the replica `r` of the request's slot, which has storage, from the
 * cheapest valid copy, and notes how many there are (ferry__replica_filled). May make the host's
 * copy valid on the way. A source found lost to an asynchronous failure leaves request->valid.
 * *done is false after the first leg of a prefetch that goes through the host.
 */
int ferry__transfer_in(struct ferry__request *req, struct ferry__replica *r, bool *done);

/*
 * Orders `q` (NULL: the caller) after the work that a program may have submitted to the default
 * queue of `dev` without ferry.
 */
int ferry__transfer_after_default(ferry_device *dev, ferry_queue *q);

/* Whether ferry__transfer_in would block the calling thread; failed copies leave request->valid. */
bool ferry__transfer_would_block(struct ferry__request *req);

/*
 * Whether the host's side of bytes that it shares with a device would have to wait for that device,
 * to end with V = `valid`.
 */
bool ferry__transfer_enter_would_block(struct ferry__request *req, uint32_t valid);

/*
 * Prepares the host's, or the aliased device's, side of imported bytes for the request's slot, to
 * end with V = `valid`.
 */
int ferry__transfer_enter(struct ferry__request *req, unsigned slot, uint32_t valid);

/*
 * Removes failed work on either side of shared bytes, whose results are not wanted. Returns whether
 * there was any.
 */
bool ferry__transfer_forget_failed(struct ferry__request *req);

/*
 * For bytes that the slot shares, and that it has entered: forgets the other side's finished work,
 * since the bytes are written anew.
 */
void ferry__transfer_forget_other_side(ferry_memory *m, unsigned slot);

/* The error of work that failed when it ran, as this thread's latest error says: `code`. */
int ferry__transfer_say_failed(const struct ferry__request *req, int code);

/*
 * After a copy's event failed, or the last of the uses of a valid slot: takes the bit away; 0 if
 * nothing failed.
 */
int ferry__transfer_settle(struct ferry__request *req, unsigned slot);

/* Clears the bit of a slot whose contents have failed with `code`; 0 if it was not set. */
int ferry__transfer_fail(struct ferry__request *req, unsigned slot, int code);

/* ferry__transfer_settle; if it has failed, the copies made from it are looked at as well. */
int ferry__transfer_settle_all(struct ferry__request *req, unsigned slot);

/*
 * ferry__transfer_settle_all of the request's slot, whose work was waited for: 0, or the error, of
 * the copy or of the contents.
 */
int ferry__transfer_check(struct ferry__request *req);

#endif
