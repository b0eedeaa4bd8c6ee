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
 * cheapest valid copy, and records their number (ferry__replica_filled). A copy through the host
 * makes the host's copy valid too. A source found lost to an asynchronous failure leaves
 * request->valid. *done is false after the first leg of a prefetch that goes through the host.
 */
int ferry__transfer_in(struct ferry__request *req, struct ferry__replica *r, bool *done);

/*
 * Orders `q` (NULL: the caller) after the work that a program may have submitted to the default
 * queue of `dev` without ferry.
 */
int ferry__transfer_after_default(ferry_device *dev, ferry_queue *q);

/* Whether ferry__transfer_in would block the calling thread. Failed copies leave request->valid. */
bool ferry__transfer_would_block(struct ferry__request *req);

/*
 * Whether making the host's side of shared bytes accessible, with V = `valid` afterwards, would
 * wait for the device.
 */
bool ferry__transfer_enter_would_block(struct ferry__request *req, uint32_t valid);

/*
 * Makes the request's side of imported bytes accessible: the host's or the aliased device's. V =
 * `valid` afterwards.
 */
int ferry__transfer_enter(struct ferry__request *req, unsigned slot, uint32_t valid);

/*
 * Removes failed work on either side of shared bytes, when its results are not needed. Returns
 * whether there was any.
 */
bool ferry__transfer_forget_failed(struct ferry__request *req);

/*
 * Forgets the finished work of the other side of shared bytes that the slot has entered, since the
 * bytes are overwritten.
 */
void ferry__transfer_forget_other_side(ferry_memory *m, unsigned slot);

/* Records the error of work that failed during its execution, and returns `code`. */
int ferry__transfer_say_failed(const struct ferry__request *req, int code);

/*
 * Clears the slot's bit if its copy's event, or the last of its uses, has failed; 0 if nothing
 * failed.
 */
int ferry__transfer_settle(struct ferry__request *req, unsigned slot);

/* Clears the bit of a slot whose contents have failed with `code`; 0 if it was not set. */
int ferry__transfer_fail(struct ferry__request *req, unsigned slot, int code);

/* As ferry__transfer_settle; after a failure it also checks the copies made from the failed one. */
int ferry__transfer_settle_all(struct ferry__request *req, unsigned slot);

/*
 * Checks the request's slot, whose work was waited for, by ferry__transfer_settle_all: 0, or the
 * error of the copy or of the contents.
 */
int ferry__transfer_check(struct ferry__request *req);

#endif
