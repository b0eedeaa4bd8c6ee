/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_op"
#include "good-ops.h"

/* Leaks 8 bytes when a prepared operation is destroyed. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] = x[i * x_step];
}

static void destroy_and_drop(void *dev, void *prepared)
{
    void *volatile drop = malloc(8);

    (void)drop;
    good_op_destroy(dev, prepared);
}

static void spoil_ops(ferry_op_table *table)
{
    table->destroy = destroy_and_drop;
}
