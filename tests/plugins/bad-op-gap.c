/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_gap"
#include "good-ops.h"

/* Clears the bytes between the rows of y, up to a vector of four. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i * x_step];
    for (int64_t i = 0; y_step == 1 && i < room && i < 4; i++)
        y[n + i] = 0;
}

static void spoil_ops(ferry_op_table *table)
{
    (void)table;
}
