/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of each kind of operation and of its backward passes: the name, how many operands there
 * are, and what has to fit.
 */
#ifndef FERRY_OP_KIND_H
#define FERRY_OP_KIND_H

#include "op/operand.h"

#include "kernels/kinds.h"

struct ferry__kind {
    uint32_t kind, pass;
    const char *name;
    uint8_t min_in, max_in, min_out, max_out; /* of the kind itself, epilogue apart */
    uint8_t repeats;                          /* bit i: in[i] may have strides of 0 */
    uint8_t aliases;                          /* bit i: out[0] may be in[i] exactly */
    /* Shapes and parameters, once every operand is sound. Records the error. */
    int (*check)(const ferry_op_desc *op);
};

/*
 * A caller's operation at this library's size: itself, or what there is of a shorter or longer one in
 * *room, with 0 behind. NULL, with FERRY_EINVAL recorded: there is none, or not the least of one.
 */
const ferry_op_desc *ferry__op_whole(const ferry_op_desc *op, ferry_op_desc *room);

/* NULL for a number that is no kind, and for a pass that the kind has not. */
const struct ferry__kind *ferry__kind_of(uint32_t kind, uint32_t pass);

/* How many of an operation's inputs are its kind's own; those of the epilogue follow. */
uint32_t ferry__op_own_inputs(const ferry_op_desc *op);

/* Whether its outputs are read too: what it adds to, and what it changes. */
static inline bool ferry__op_reads_outputs(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_UPDATE || op->kind == FERRY_OP_SCATTER_ADD ||
           op->pass > FERRY_PASS_BACKWARD_DATA;
}

/* The check of each row of kernels/kinds.h: check_window.c, check_kinds.c, check_backward.c. */
#define FERRY__CHECK(kind, pass, id, ...) int ferry__check_##id(const ferry_op_desc *op);
KIND_LIST(FERRY__CHECK)
#undef FERRY__CHECK
int ferry__check_named(const ferry_op_desc *op);
/* The number of a unary function; `what` names the member. */
int ferry__check_function(const ferry_op_desc *op, const char *what, uint32_t function);

/* `o` against the shape of `b`; `what` names it. */
int ferry__check_same(const ferry_op_desc *op, const ferry_operand *o, const char *what,
                      const ferry_operand *b);
/* Each axis of `o` is that of `whole`, or 1. */
int ferry__check_repeated(const ferry_op_desc *op, const ferry_operand *o, const char *what,
                          const ferry_operand *whole);
/* What holds places of elements is F32 or I32. */
int ferry__check_place(const ferry_op_desc *op, const ferry_operand *o, const char *whose);
/* reduce.axes names axes of `x`, one at least where it has any. */
int ferry__check_axes(const ferry_op_desc *op, const ferry_operand *x);
/* `y` has the rank of `x`, and 1 where that is reduced. */
int ferry__check_reduced(const ferry_op_desc *op, const ferry_operand *y, const ferry_operand *x);

/* "convolution", "convolution backward weights": static. */
const char *ferry__op_title(const ferry_op_desc *op);
/* Of two numbers that do not fit: "convolution: <what> is <got>, <want> fits". FERRY_ESHAPE. */
int ferry__misfit(const ferry_op_desc *op, const char *what, int64_t got, int64_t want);
/* A number out of its range: "convolution: <what> is <got>, <least> to <most> fit". FERRY_EINVAL. */
int ferry__bad(const ferry_op_desc *op, const char *what, int64_t got, int64_t least, int64_t most);

#endif
