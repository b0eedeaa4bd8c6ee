/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_OP_H
#define FERRY_CONFORM_OP_H

#include "kit.h"

#include "tests/reference/reference.h"

#include <ferry/op_plugin.h>

/* Declarations that the files of the group `ops` share. */

/* The storage of an operand: a block of its own, larger than the operand on both sides. */
struct op_block {
    ferry_operand o;
    struct mirror *m; /* in place, that of the input */
    struct mirror own;
};

/* Layouts of operands: row-major, channels innermost, part of a larger tensor. */
enum op_lie { OP_PLAIN, OP_LAST, OP_SLICE, OP_LAST_SLICE, OP_WIDE };

/* ---- operands and their blocks (op_block.c) ------------------------------------------------- */

void op_lay(ferry_operand *o, enum op_lie lie);
/* Its elements in the host's copy. */
struct op_view op_block_view(const struct op_block *b);
/* Fills it with random numbers and surrounds it with NaN; an output is filled with NaN, too. */
void op_block_create(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_output(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_refill(struct op_block *b, unsigned seed);
/*
 * Contents that suit the kind: divisors and bases of powers are positive, regions are inside
 * images, and conversions include the numbers at which rounding and saturation begin.
 */
void op_block_suit(struct op_block *b, const ferry_op_desc *op, bool is_output, uint32_t n);
void op_block_destroy(struct op_block *b);
ferry_ref op_block_ref(const struct op_block *b);
/* Checks the elements, and that nothing around them has changed; `what` is "out[0]". */
void op_block_check(struct op_block *b, const char *what, const struct op_number *want);

/* The seed and counter with which RANDOM and UPDATE run. */
#define OP_SEED   UINT64_C(0x0123456789abcdef)
#define OP_OFFSET 5u
extern const double op_scalars[FERRY_UPDATE_SCALARS];

/* ---- a run (op_run.c) ----------------------------------------------------------------------- */

/* Names the case: kind, dtypes, shapes and strides. */
void op_say(const ferry_op_desc *op, const char *note, const char *doing);
/* Runs the created operation, also on two queues if `queues`, and checks all its outputs. */
void op_run(const ferry_op_desc *op, const ferry_op_answer *answer, void *prepared,
            const char *note, bool in_place, bool queues);

/* ---- trials (op_try.c) and their lists (op_trials.c, op_passes.c, op_others.c, op_convert.c) - */

/* The plugin's. */
extern const ferry_op_table *op_table;

/* The number of trials, and of those that the plugin accepted. */
extern struct op_tally {
    int tried, taken;
    uint64_t kinds; /* bit k: an operation of kind 32 + k was accepted */
} op_tally;

/* query, checked for writes past the answer: 0, or FERRY_EUNSUPPORTED. */
int op_ask(const ferry_op_desc *op, ferry_op_answer *out);
/* Tries an operation whose operands are plain, also with other strides. */
void op_try(const ferry_op_desc *op, const char *note, bool in_place);
/* All trials of a dtype; those of kinds that move or modify data; copies to other dtypes. */
void op_trials(uint32_t dtype);
void op_other_trials(uint32_t dtype);
void op_conversion_trials(void);
/* The backward passes of a forward operation. */
void op_try_backward(const ferry_op_desc *forward, const char *note);
/* An operation, and a plain operand whose dimensions end at −1. */
ferry_op_desc op_begin(uint32_t kind, uint32_t n_in, uint32_t n_out);
void op_shape(ferry_operand *o, uint32_t dtype, const int64_t *shape);

#define OP_SHAPE(o, dtype, ...) op_shape(o, dtype, (const int64_t[]){ __VA_ARGS__, -1 })

#endif
