/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random operation, its plan of kernel launches, and two sets of operands: one for the oracle,
 * and one for the kernels, with margins around every operand.
 */
#ifndef FERRY_TEST_KERNEL_TRIAL_H
#define FERRY_TEST_KERNEL_TRIAL_H

#include "op-backward.h"

#include "kernels/host.h"

#define TRIAL_OPERANDS (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define TRIAL_MARGIN   64

/* A kind of operation, forward or one of its passes. */
struct trying {
    uint32_t kind;
    const struct ob_pass *pass;
};

struct trial {
    struct om_numbers numbers;
    ferry_op_desc op;
    struct kernel_plan plan;
    unsigned char *theirs[TRIAL_OPERANDS], *ours[TRIAL_OPERANDS];
    size_t size[TRIAL_OPERANDS]; /* with both margins */
    struct kernel_host_run on;
};

/* Runs one launch of the trial's plan; false after a fault, which it has printed. */
typedef bool trial_launch(const struct trial *t, const struct kernel_launch *l);

/* The operation of a seed; `n` continues with the values of its operands. */
void trial_make_operation(struct trying what, uint64_t seed, struct om_numbers *n,
                          ferry_op_desc *out);
/* Plans an operation; false if the kernels do not support it. There is nothing to free then. */
bool trial_plan(struct trying what, uint64_t seed, const struct kernel_target *target,
                struct trial *t);
/* Plans that operation; `t->numbers` is the state from which its operands get values. */
bool trial_plan_operation(const ferry_op_desc *op, struct om_numbers numbers,
                          const struct kernel_target *target, struct trial *t);
/*
 * Runs a planned trial, once. Returns whether every operand is within the oracle's tolerance, or
 * FERRY_TEST_SLACK times that.
 */
bool trial_agrees(struct trial *t, trial_launch *launch);
/* Plans a random operation of that kind and half, without an epilogue; false if unsupported. */
bool trial_plan_half(uint32_t kind, ferry_dtype half, uint64_t seed,
                     const struct kernel_target *target, struct trial *t);
/*
 * Runs a forward pass of halves on `launch`, as trial_agrees does. Returns whether every element of
 * out[0] is within the bound of its sum in F32, computed in long double.
 */
bool trial_is_bounded(struct trial *t, trial_launch *launch);
/* The oracle, with operands at that offset in their buffers. */
void trial_oracle_at(struct trial *t, uint64_t margin);

#endif
