/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties of each kind of operation and of its backward passes: the name, the number of
 * operands, and the check of shapes.
 */
#ifndef FERRY_OP_KIND_H
#define FERRY_OP_KIND_H

#include "op/operand.h"

#include "kernels/kinds.h"

#include <ferry/op_plugin.h>

struct ferry__kind {
    uint32_t kind, pass;
    const char *name;
    uint8_t min_in, max_in, min_out, max_out; /* operands of the kind itself, without the
                                               * epilogue */
    uint8_t repeats;                          /* bit i: in[i] may have strides of 0 */
    uint8_t aliases;                          /* bit i: out[0] may have exactly the memory of
                                               * in[i] */
    /* Checks shapes and parameters after every operand was checked. Sets the error. */
    int (*check)(const ferry_op_desc *op);
};

/*
 * Converts a caller's operation to this version's size: returns it unchanged, or a copy in *room,
 * cut or extended with zeros. NULL, with FERRY_EINVAL set, for a NULL or too small operation.
 */
const ferry_op_desc *ferry__op_whole(const ferry_op_desc *op, ferry_op_desc *room);

/* Returns the kind; NULL for an invalid kind, and for a pass that the kind lacks. */
const struct ferry__kind *ferry__kind_of(uint32_t kind, uint32_t pass);

/* Whether the outputs are also read: the operation accumulates into them or updates them. */
static inline bool ferry__op_reads_outputs(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_UPDATE || op->kind == FERRY_OP_SCATTER_ADD ||
           op->pass > FERRY_PASS_BACKWARD_DATA;
}

static inline bool ferry__is_integer(uint32_t dtype)
{
    return dtype == FERRY_I8 || dtype == FERRY_U8;
}

/*
 * Whether an operation is integer arithmetic (op_params.h), by its kind and in[0]: a copy with an
 * epilogue also by out[0].
 */
bool ferry__op_is_integer(const ferry_op_desc *op);
/* Whether an operation on F32 has weights of F16 or BF16 (op_params.h). */
bool ferry__op_has_half_weights(const ferry_op_desc *op);
/* Whether a product with weights of F32 reads, adds or writes BF16 (op_params.h). */
bool ferry__op_has_bf16_values(const ferry_op_desc *op);

/*
 * The check functions of the rows of kernels/kinds.h, in check_window.c, check_kinds.c and
 * check_backward.c.
 */
#define FERRY__CHECK(kind, pass, id, ...) int ferry__check_##id(const ferry_op_desc *op);
KIND_LIST(FERRY__CHECK)
#undef FERRY__CHECK
int ferry__check_named(const ferry_op_desc *op);
/* Checks the number of a unary function; `what` names the member. */
int ferry__check_function(const ferry_op_desc *op, const char *what, uint32_t function);

/* Compares `o` with the shape of `b`; `what` names it. */
int ferry__check_same(const ferry_op_desc *op, const ferry_operand *o, const char *what,
                      const ferry_operand *b);
/* Checks that each axis of `o` is that of `whole`, or 1. */
int ferry__check_repeated(const ferry_op_desc *op, const ferry_operand *o, const char *what,
                          const ferry_operand *whole);
/* Checks that an operand of indices is F32 or I32. */
int ferry__check_place(const ferry_op_desc *op, const ferry_operand *o, const char *whose);
/* Checks that reduce.axes are axes of `x`, at least one unless it has rank 0. */
int ferry__check_axes(const ferry_op_desc *op, const ferry_operand *x);
/* Checks that `y` has the rank of `x`, and length 1 in reduced axes. */
int ferry__check_reduced(const ferry_op_desc *op, const ferry_operand *y, const ferry_operand *x);
/*
 * Checks that `each` steps of arithmetic for every element of `y` are less than 2⁵⁶: days of work,
 * and few enough that plugins count them, with small factors, in int64_t. FERRY_EOVERFLOW.
 */
int ferry__check_work(const ferry_op_desc *op, const ferry_operand *y, double each);

/*
 * The operation's title in messages, "convolution" or "convolution backward weights"; a static
 * string.
 */
const char *ferry__op_title(const ferry_op_desc *op);
/* Reports a wrong number: "convolution: <what> is <got>, must be <want>". FERRY_ESHAPE. */
int ferry__misfit(const ferry_op_desc *op, const char *what, int64_t got, int64_t want);
/*
 * Reports a number out of range: "convolution: <what> is <got>, must be <least> to <most>".
 * FERRY_EINVAL.
 */
int ferry__bad(const ferry_op_desc *op, const char *what, int64_t got, int64_t least, int64_t most);

#endif
