/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_scalars"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

static int is_plain(const ferry_operand *o)
{
    int64_t n = 1;

    for (uint32_t i = o->rank; i-- > 0; n *= o->shape[i])
        if (o->stride[i] != n)
            return 0;
    return 1;
}

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    return op->kind == FERRY_OP_UPDATE && op->params.update.solver == FERRY_UPDATE_SGD &&
                   op->pass == FERRY_PASS_FORWARD && op->in[0].dtype == FERRY_F32 &&
                   is_plain(&op->in[0]) && is_plain(&op->out[0]) && is_plain(&op->out[1])
               ? 0
               : FERRY_EUNSUPPORTED;
}

static float *floats(ferry_ref ref)
{
    return (float *)(void *)good_at(ref.handle, ref.offset);
}

/* Confuses the momentum and the learning rate. */
static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const float *grad =
        (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    float *w = floats(args->out[0]), *h = floats(args->out[1]);
    const double *s = args->scalars;

    (void)dev, (void)queue;
    for (int64_t i = 0; i < op->in[0].shape[0] * op->in[0].stride[0]; i++) {
        double sign = w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0;
        double g = s[0] * (double)grad[i] + s[1] * (double)w[i] + s[2] * sign;

        h[i] = (float)(s[3] * (double)h[i] + s[4] * g);
        w[i] -= h[i];
    }
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
