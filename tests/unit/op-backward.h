/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_OP_BACKWARD_H
#define FERRY_TEST_OP_BACKWARD_H

#include "op-make.h"

#include <stdbool.h>

/* Backward passes derived from random forward operations. */

/*
 * The role of an input of a backward pass: an operand of the forward pass, or the gradient of its
 * y.
 */
enum ob_role { OB_X, OB_U, OB_V, OB_Y, OB_EXTRA, OB_DY };

struct ob_pass {
    uint32_t kind, pass;
    enum ob_role of; /* the operand that its output is the gradient of */
};

/* The passes, and their number. */
extern const struct ob_pass ob_passes[];
extern const int ob_pass_count;

/*
 * A random forward operation that has this pass, and the pass. OB_EXTRA is its out[1], if it has
 * one: a mask, LRN's scale; with MOMENTS the scale, and Y is the normalised operand. `roles` has an
 * entry for each input of the pass.
 */
void ob_make(struct om_numbers *n, const struct ob_pass *pass, ferry_op_desc *forward,
             ferry_op_desc *backward, enum ob_role *roles);

/*
 * Fills a mask for the pass of POOL: indices inside the windows, and some that are −1 or invalid.
 */
void ob_fill_mask(struct om_numbers *n, const ferry_op_desc *backward, void *mask);

#endif
