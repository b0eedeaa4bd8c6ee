/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_again"
#include "good-ops.h"

/* State of an earlier run affects the next. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i * x_step];
}

static unsigned runs;

/* Flips the last bit of the first element in every other run. */
static int again(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    int err = good_op_run(dev, queue, prepared, args);

    if (runs++ & 1)
        *good_at(args->out[0].handle, args->out[0].offset) ^= 1;
    return err;
}

static void spoil_ops(ferry_op_table *table)
{
    table->run = again;
}
