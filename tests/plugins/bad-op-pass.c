/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_pass"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

/* A ReLU that ignores the pass: it computes the gradient as if it were forward. */
static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    if (op->kind != FERRY_OP_UNARY || op->pass > FERRY_PASS_BACKWARD_BIAS ||
        op->params.unary.function != FERRY_UNARY_RELU || op->in[0].dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    for (uint32_t i = 0; i + 1 < op->in[0].rank; i++)
        if (op->in[0].stride[i] != op->in[0].stride[i + 1] * op->in[0].shape[i + 1] ||
            op->out[0].stride[i] != op->in[0].stride[i])
            return FERRY_EUNSUPPORTED;
    return op->in[0].rank && op->in[0].stride[op->in[0].rank - 1] == 1 ? 0 : FERRY_EUNSUPPORTED;
}

static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const float *x = (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    float *y = (float *)(void *)good_at(args->out[0].handle, args->out[0].offset);

    (void)dev, (void)queue;
    for (int64_t i = 0; i < op->in[0].shape[0] * op->in[0].stride[0]; i++)
        y[i] = x[i] > 0 ? x[i] : (float)op->params.unary.a * x[i];
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
