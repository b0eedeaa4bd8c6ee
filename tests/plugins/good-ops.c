/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_ops"
#include "good-ops.h"

/* A correct plugin, with an operation. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i * x_step];
}

static void spoil_ops(ferry_op_table *table)
{
    (void)table;
}
