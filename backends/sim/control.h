/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a test drives a simulated device: step its clock, make calls fail, lose it.
 *
 * A program gets the table and the device by name:
 *
 *     const struct sim_control *control;
 *     void *sim;
 *
 *     ferry_device_native(dev, "sim_control", &control, sizeof(control));
 *     ferry_device_native(dev, "sim_device", &sim, sizeof(sim));
 *     control->fail_next(sim, SIM_CALL_ALLOC, 1, FERRY_ENOMEM);
 *
 * and a queue by ferry_queue_native(queue, "sim_queue", …). Every function may be called from any
 * thread.
 *
 * What is on a queue is a sequence of commands: copies, memsets, operations, and also the events
 * recorded and the waits for events. On the real clock a thread runs them at their modelled time;
 * on the sync clock the entry that brings one has run it before it returns; on the manual clock
 * nothing runs but by step, step_queue and run_all, and by the entries that block (synchronize,
 * queue_synchronize, event_synchronize, map, queue_destroy), which run just what they wait for.
 *
 * An event has the first failure of its queue since the event before it, whoever else was told.
 * Waiting for an event that failed is no failure of the queue that waits. queue_synchronize and
 * synchronize report the latest failure, once, unless an event has reported it. A command that fails
 * leaves what it was to write poisoned.
 */
#ifndef FERRY_SIM_CONTROL_H
#define FERRY_SIM_CONTROL_H

#include <stdint.h>

/* Kinds of calls that can be made to fail. */
#define SIM_CALL_ALLOC      0u
#define SIM_CALL_MEMCPY     1u /* and peer_copy */
#define SIM_CALL_MEMSET     2u
#define SIM_CALL_OP         3u /* every arithmetic entry */
#define SIM_CALL_EVENT      4u /* event_record */
#define SIM_CALL_HOST_ALLOC 5u
#define SIM_CALL_IMPORT     6u
#define SIM_CALL_MAP        7u
#define SIM_CALL_UNMAP      8u
#define SIM_CALL_QUEUE      9u  /* queue_create */
#define SIM_CALL_WAIT       10u /* queue_wait */
#define SIM_CALL_ANY        11u /* all kinds, counted together */
/* Prepared operations, which are not among SIM_CALL_OP. */
#define SIM_CALL_CREATE  12u
#define SIM_CALL_PREPARE 13u
#define SIM_CALL_RUN     14u
#define SIM_CALL_LIST    15u /* a list replayed, or submitted by end; its runs are not RUN's */
#define SIM_CALL_COUNT   16u

struct sim_control {
    uint32_t struct_size;
    uint32_t reserved;
    /*
     * Runs up to `n` commands of the device, in the order in which they were submitted, but that a
     * queue which waits for an event stands back. Returns how many ran. Manual clock only; else 0.
     */
    uint64_t (*step)(void *sim, uint64_t n);
    /* The same, of one queue only (NULL: the default one). */
    uint64_t (*step_queue)(void *sim, void *queue, uint64_t n);
    /* Runs all that can run. */
    uint64_t (*run_all)(void *sim);
    /* How many commands have been submitted and have not completed. */
    uint64_t (*pending)(void *sim);
    /* The `nth` call of that kind from now (1: the next) fails with `code`; 0: none does. */
    void (*fail_next)(void *sim, uint32_t call, uint64_t nth, int code);
    /*
     * The same for MEMCPY, MEMSET, OP, PREPARE and RUN, but the call is accepted: the command fails when it runs,
     * and an event tells.
     */
    void (*fail_later)(void *sim, uint32_t call, uint64_t nth, int code);
    /* How many calls of that kind there have been since the device was opened. */
    uint64_t (*calls)(void *sim, uint32_t call);
    /*
     * The device is lost: its commands end with FERRY_ELOST, and so does every call from now on but
     * those that free or destroy.
     */
    void (*lose)(void *sim);
    /*
     * With 1 the device begins and completes nothing more, so that all who wait for it wait, until it is
     * called with 0. Real clock only.
     */
    void (*hold)(void *sim, int on);
};

#endif
