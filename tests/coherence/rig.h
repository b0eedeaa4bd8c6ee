/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RIG_H
#define FERRY_TEST_RIG_H

#include "model.h"
#include "world.h"

/*
 * A blob on two devices of the running world that is put through the model's operations, with kernels on both
 * queues of each device that read and write what the accesses give them. Where it and the model
 * part, the rig says where.
 */

#define RIG_STEPS 16

/* Opens the running world's devices, once; `peer`: they copy to one another. */
bool rig_open(bool peer);
/* Whether all blocks, events and queues of the plugin's were given back. */
bool rig_close(void);

/*
 * A new blob, and a new model of it. `settle`: all work is done after each step, else it stays
 * pending until somebody waits for it.
 */
bool rig_begin(bool settle);

/* The model as it should be, to be looked at. */
const struct model *rig_model(void);

/* Does one operation on both and compares them; false: a line has been printed. */
bool rig_step(unsigned op);

/* What came of an operation one of whose calls was to fail. */
enum rig_outcome {
    RIG_WRONG,     /* not as it should; a line has been printed */
    RIG_UNREACHED, /* it makes fewer calls than that */
    RIG_WITHSTOOD  /* a call did fail */
};

/*
 * The same while the `nth` call of device `dev` fails, whatever its kind. Either the operation
 * succeeds and all is as if nothing had failed, or nothing has changed, but that a staged copy may
 * have gained the host's bit; done again, it then succeeds.
 */
enum rig_outcome rig_step_failing(unsigned op, int dev, unsigned nth);

/*
 * The same while the `nth` copy of device `dev` is accepted and fails when it runs. Every later read
 * fails or gives the right bytes, never others; it fails for good only where no other copy was
 * left. `first` is the place that is read first.
 */
enum rig_outcome rig_step_failing_later(unsigned op, int dev, unsigned nth, unsigned first);

/* Makes the model expect copies that it should not; for a test of the test. Prints nothing then. */
void rig_mislead(void);

/* What all valid copies hold, and all kernels have read, is right. Reads them; the last thing. */
bool rig_check_contents(void);

/* Gives the blob back; nothing may be left. `ok`: so far; the result includes it. */
bool rig_end(bool ok);

/* Prints a failure with the operations since rig_begin. */
bool rig_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
