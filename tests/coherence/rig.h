/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RIG_H
#define FERRY_TEST_RIG_H

#include "model.h"
#include "world.h"

/*
 * Applies the model's operations to a blob on two devices of the current world, with kernels on
 * both queues of each device that read and write the references that the accesses return. A
 * difference between the library and the model is printed.
 */

#define RIG_STEPS 16

/* Opens the current world's devices, once; `peer`: they can copy to each other. */
bool rig_open(bool peer);
/* Whether all blocks, events and queues of the plugin were freed. */
bool rig_close(void);

/*
 * Creates a blob and its model. `settle`: all work completes after each step; otherwise it stays
 * pending until an access waits for it.
 */
bool rig_begin(bool settle);

/* The expected state. */
const struct model *rig_model(void);

/* Performs one operation on both and compares them; returns false after printing a line. */
bool rig_step(unsigned op);

/* The result of an operation with an injected failure. */
enum rig_outcome {
    RIG_WRONG,     /* a difference; a line has been printed */
    RIG_UNREACHED, /* the operation makes fewer calls */
    RIG_WITHSTOOD  /* the call failed and the result is correct */
};

/*
 * As rig_step, while call number `nth` of device `dev` fails, whatever its kind. Either the
 * operation succeeds as without a failure, or the state is unchanged, except that a staged copy may
 * have made the host's copy valid; then the repeated operation succeeds.
 */
enum rig_outcome rig_step_failing(unsigned op, int dev, unsigned nth);

/*
 * As rig_step, while copy number `nth` of device `dev` is accepted and fails when it runs. Every
 * later read fails or gives the correct bytes, never others; it keeps failing only if no other
 * valid copy was left. `first` is the slot that is read first.
 */
enum rig_outcome rig_step_failing_later(unsigned op, int dev, unsigned nth, unsigned first);

/* Makes the model expect wrong copies, to test the test. Prints nothing from then on. */
void rig_mislead(void);

/* Reads all valid copies and the values that kernels have read, and checks them; called last. */
bool rig_check_contents(void);

/*
 * Destroys the blob and checks that nothing is left. `ok`: the result so far, which the return
 * value includes.
 */
bool rig_end(bool ok);

/* Prints a failure with the operations since rig_begin. */
bool rig_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
