/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_convert"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

/* Accepts contiguous vectors. */
static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    return op->kind == FERRY_OP_STRIDED_COPY && op->in[0].dtype == FERRY_F32 &&
                   op->out[0].dtype == FERRY_BF16 && op->in[0].rank == 1 &&
                   (op->in[0].shape[0] == 1 ||
                    (op->in[0].stride[0] == 1 && op->out[0].stride[0] == 1))
               ? 0
               : FERRY_EUNSUPPORTED;
}

/* Truncates instead of rounding to half. */
static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const uint32_t *x =
        (const uint32_t *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    uint16_t *y = (uint16_t *)(void *)good_at(args->out[0].handle, args->out[0].offset);

    (void)dev, (void)queue;
    for (int64_t i = 0; i < op->out[0].shape[0]; i++)
        y[i] = (uint16_t)(x[i] >> 16);
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
