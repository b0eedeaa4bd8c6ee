/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_copy"
#include "good-ops.h"

/* Treats x's rows as contiguous. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)room, (void)x_step;
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i];
}

static void spoil_ops(ferry_op_table *table)
{
    (void)table;
}
