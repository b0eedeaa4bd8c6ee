/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface with which a test drives a simulated device: it runs commands one by one, makes
 * calls fail, and loses the device.
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
 * A queue is a sequence of commands: copies, memsets, operations, recorded events, and waits for
 * events. On the real clock a thread runs them at their modelled time. On the sync clock the entry
 * that submits a command runs it before it returns. On the manual clock commands run only in step,
 * step_queue and run_all, and in the entries that block (synchronize, queue_synchronize,
 * event_synchronize, map, queue_destroy), which run only the commands that they wait for.
 *
 * An event records the first failure of its queue since the event before it, whether or not it was
 * reported elsewhere. A wait for a failed event does not fail the waiting queue. queue_synchronize
 * and synchronize report the latest failure once, unless an event has reported it. The output of a
 * failed command is filled with a poison value.
 */
#ifndef FERRY_SIM_CONTROL_H
#define FERRY_SIM_CONTROL_H

#include <stdint.h>

/* Kinds of calls that can be made to fail. */
#define SIM_CALL_ALLOC      0u
#define SIM_CALL_MEMCPY     1u /* includes peer_copy */
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
/* Calls for prepared operations, which SIM_CALL_OP does not include. */
#define SIM_CALL_CREATE  12u
#define SIM_CALL_PREPARE 13u
#define SIM_CALL_RUN     14u
/* a list that is replayed, or submitted by `end`; its runs do not count as RUN */
#define SIM_CALL_LIST    15u
#define SIM_CALL_COMPILE 16u /* the compilation of a segment */
#define SIM_CALL_SEGMENT 17u /* the run of a segment; its operations also count as RUN */
#define SIM_CALL_COUNT   18u

struct sim_control {
    uint32_t struct_size;
    uint32_t reserved;
    /*
     * Runs up to `n` commands of the device in the order of their submission, except that a queue
     * that waits for an event is skipped. Returns the number of commands that ran. Manual clock
     * only; else 0.
     */
    uint64_t (*step)(void *sim, uint64_t n);
    /* As step, for one queue only (NULL: the default one). */
    uint64_t (*step_queue)(void *sim, void *queue, uint64_t n);
    /* Runs all commands that can run. */
    uint64_t (*run_all)(void *sim);
    /* The number of commands that were submitted and have not completed. */
    uint64_t (*pending)(void *sim);
    /* The `nth` call of that kind from now (1: the next) fails with `code`; nth 0 cancels. */
    void (*fail_next)(void *sim, uint32_t call, uint64_t nth, int code);
    /*
     * As fail_next for MEMCPY, MEMSET, OP, PREPARE and RUN, but the call succeeds: the command
     * fails when it runs, and an event reports it.
     */
    void (*fail_later)(void *sim, uint32_t call, uint64_t nth, int code);
    /* The number of calls of that kind since the device was opened. */
    uint64_t (*calls)(void *sim, uint32_t call);
    /*
     * Loses the device: its commands end with FERRY_ELOST, and so does every later call except
     * those that free or destroy.
     */
    void (*lose)(void *sim);
    /*
     * With 1 the device starts and completes no command, so that every wait blocks, until this is
     * called with 0. Real clock only.
     */
    void (*hold)(void *sim, int on);
};

#endif
