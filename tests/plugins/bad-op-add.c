/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_add"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

static int64_t count(const ferry_operand *o, uint32_t first)
{
    int64_t n = 1;

    for (uint32_t i = first; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

static int is_plain(const ferry_operand *o)
{
    for (uint32_t i = 0; i < o->rank; i++)
        if (o->stride[i] != count(o, i + 1))
            return 0;
    return 1;
}

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    return op->kind == FERRY_OP_SCATTER_ADD && op->pass == FERRY_PASS_FORWARD &&
                   op->in[0].dtype == FERRY_F32 && op->in[1].dtype == FERRY_I32 &&
                   is_plain(&op->in[0]) && is_plain(&op->in[1]) && is_plain(&op->out[0])
               ? 0
               : FERRY_EUNSUPPORTED;
}

/* Stores the last of the rows with an index instead of their sum. */
static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const float *x = (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    const int32_t *index =
        (const int32_t *)(const void *)good_at(args->in[1].handle, args->in[1].offset);
    float *y = (float *)(void *)good_at(args->out[0].handle, args->out[0].offset);
    int64_t row = count(&op->out[0], 1);

    (void)dev, (void)queue;
    for (int64_t i = 0; i < count(&op->in[1], 0); i++)
        if (index[i] >= 0 && index[i] < op->out[0].shape[0])
            memcpy(y + index[i] * row, x + i * row, (size_t)row * sizeof(*y));
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
