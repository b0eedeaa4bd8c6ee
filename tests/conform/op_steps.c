/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <string.h>

/* ops-steps: steps after an operation, with operands that have gaps and other strides. */

/* UNARY, ADD, SCALE, SHIFT, PRELU with C slopes, PRELU with one; '\0' ends a chain. */
static const char *const chains[] = { "u",  "a",   "s",  "h",   "p",  "1",
                                      "au", "shu", "ua", "sha", "hap" };

static void add_step(ferry_op_desc *op, char name)
{
    static const uint32_t steps[128] = { ['u'] = FERRY_STEP_UNARY, ['a'] = FERRY_STEP_ADD,
                                         ['s'] = FERRY_STEP_SCALE, ['h'] = FERRY_STEP_SHIFT,
                                         ['p'] = FERRY_STEP_PRELU, ['1'] = FERRY_STEP_PRELU };
    ferry_op_step *step = &op->epilogue[op->n_epilogue++];
    ferry_operand *o = &op->in[op->n_in];

    *step = (ferry_op_step){ .step = steps[(int)name] };
    if (name == 'u') {
        step->function = op->n_epilogue % 2 ? FERRY_UNARY_RELU : FERRY_UNARY_CLIP;
        step->a = op->n_epilogue % 2 ? 0.25 : -0.75;
        step->b = op->n_epilogue % 2 ? 0 : 0.5;
        return;
    }
    step->operand = op->n_in++;
    if (name == 'a')
        *o = op->out[0];
    else
        OP_SHAPE(o, op->out[0].dtype, name == '1' ? 1 : op->out[0].shape[1]);
}

/* One layout of y, and others of the operands. */
static void try_chain(const ferry_op_desc *from, const char *chain, enum op_layout y,
                      enum op_layout other, const char *note)
{
    ferry_op_desc op = *from;
    uint32_t own = op.n_in;

    for (; *chain; chain++)
        add_step(&op, *chain);
    op_lay(&op.in[0], y);
    op_lay(&op.out[0], y);
    for (uint32_t k = own; k < op.n_in; k++) {
        op_lay(&op.in[k], other);
        if (op.in[k].rank == 1 && op.in[k].shape[0] > 1 && other != OP_PLAIN)
            op.in[k].stride[0] = 3;
    }
    op_tally.tried++;
    op_tally.taken += op_try_laid(&op, note, false, false);
}

static void try_all(const ferry_op_desc *op, const char *note)
{
    static const enum op_layout layouts[][2] = {
        { OP_PLAIN, OP_PLAIN }, { OP_PLAIN, OP_SLICE },     { OP_PLAIN, OP_LAST },
        { OP_LAST, OP_LAST },   { OP_LAST, OP_LAST_SLICE }, { OP_LAST, OP_PLAIN },
        { OP_SLICE, OP_WIDE },  { OP_LAST_SLICE, OP_SLICE }
    };

    for (size_t c = 0; c < sizeof(chains) / sizeof(chains[0]); c++)
        for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
            try_chain(op, chains[c], layouts[i][0], layouts[i][1], note);
}

static void convolution(uint32_t dtype, int64_t c, int64_t o, int64_t group, int64_t k,
                        uint32_t n_in)
{
    ferry_op_desc op = op_begin(FERRY_OP_CONVOLUTION, n_in, 1);

    op.params.window = (ferry_op_window){ .axes = 2,
                                          .group = (uint32_t)group,
                                          .kernel = { k, k, 1 },
                                          .stride = { 1, 1, 1 },
                                          .dilation = { 1, 1, 1 },
                                          .pad = { k / 2, k / 2, 0 },
                                          .pad_end = { k / 2, k / 2, 0 } };
    OP_SHAPE(&op.in[0], dtype, 2, c, 5, 7);
    OP_SHAPE(&op.in[1], dtype, o, c / group, k, k);
    OP_SHAPE(&op.out[0], dtype, 2, o, 5, 7);
    if (n_in > 2)
        OP_SHAPE(&op.in[2], dtype, o);
    op.constants = n_in > 2 ? 6 : 2;
    try_all(&op, n_in > 2 ? "with a bias and an epilogue" : "with an epilogue");
}

static void inner_product(uint32_t dtype)
{
    ferry_op_desc op = op_begin(FERRY_OP_INNER_PRODUCT, 3, 1);

    OP_SHAPE(&op.in[0], dtype, 5, 33);
    OP_SHAPE(&op.in[1], dtype, 18, 33);
    OP_SHAPE(&op.in[2], dtype, 18);
    OP_SHAPE(&op.out[0], dtype, 5, 18);
    op.constants = 6;
    try_all(&op, "with an epilogue");
}

static void binary(uint32_t dtype)
{
    ferry_op_desc op = op_begin(FERRY_OP_BINARY, 2, 1);

    op.params.binary.function = FERRY_BINARY_PRODUCT;
    OP_SHAPE(&op.in[0], dtype, 2, 9, 5, 7);
    op.in[1] = op.out[0] = op.in[0];
    try_all(&op, "with an epilogue");
}

void group_ops_steps(void)
{
    uint32_t mask = 0;

    op_open();
    for (uint32_t t = FERRY_F32; t <= FERRY_F64; t++) {
        int so_far = op_tally.taken;

        convolution(t, 3, 17, 1, 3, 3);
        convolution(t, 19, 16, 1, 1, 2);
        convolution(t, 16, 16, 16, 3, 3);
        inner_product(t);
        binary(t);
        mask |= op_tally.taken > so_far ? 1u << t : 0;
    }
    op_remark(kit_dtype_list(mask));
}
