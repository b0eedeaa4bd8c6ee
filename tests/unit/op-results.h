/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OP_RESULTS_H
#define OP_RESULTS_H

#include "op-rig.h"

/* Results of the reference, kept for the next instruction sets. */

/*
 * A hash of all that the results of `op` depend on: the rig's operation with some steps of the
 * epilogue, the values of its inputs, and the previous contents of its outputs.
 */
uint64_t rig_hash(const struct rig *r, const ferry_op_desc *op);
/* Copies the results with that hash into r->out; false: they are not kept. */
bool rig_recall(struct rig *r, uint64_t hash);
/* Keeps the results in r->out, unless there is no more memory for them. */
void rig_keep(const struct rig *r, uint64_t hash);

#endif
