/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_query"
#include "good-ops.h"

/* Accepts operations that it does not know. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i * x_step];
}

static int any_kind(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    return op->kind < FERRY_OP_NAMED ? 0 : good_op_query(dev, op, out);
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = any_kind;
}
