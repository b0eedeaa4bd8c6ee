/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_resize"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    const int64_t *x = op->in[0].shape, *y = op->out[0].shape;

    (void)dev, (void)out;
    return op->kind == FERRY_OP_RESIZE && op->pass == FERRY_PASS_FORWARD &&
                   op->in[0].dtype == FERRY_F32 &&
                   op->params.resize.method == FERRY_RESIZE_NEAREST && op->in[0].stride[3] == 1 &&
                   op->in[0].stride[2] == x[3] && op->in[0].stride[1] == x[2] * x[3] &&
                   op->in[0].stride[0] == x[1] * x[2] * x[3] && op->out[0].stride[3] == 1 &&
                   op->out[0].stride[2] == y[3] && op->out[0].stride[1] == y[2] * y[3] &&
                   op->out[0].stride[0] == y[1] * y[2] * y[3]
               ? 0
               : FERRY_EUNSUPPORTED;
}

/* Always samples the corner of each pixel, whatever the operation's sampling. */
static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const int64_t *from = op->in[0].shape, *to = op->out[0].shape;
    const float *x = (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    float *y = (float *)(void *)good_at(args->out[0].handle, args->out[0].offset);

    (void)dev, (void)queue;
    for (int64_t plane = 0; plane < to[0] * to[1]; plane++, x += from[2] * from[3])
        for (int64_t i = 0; i < to[2]; i++)
            for (int64_t j = 0; j < to[3]; j++)
                *y++ = x[i * from[2] / to[2] * from[3] + j * from[3] / to[3]];
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
