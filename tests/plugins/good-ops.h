/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin of good.h with one operation: the strided copy of F32. A file that includes this
 * defines GOOD_NAME and
 *
 *     static void spoil_ops(ferry_op_table *table);
 *
 * which may replace entries, and good_row, which copies a row.
 */
#include "good.h"

#include <ferry/op_plugin.h>

/* A row along the last axis: n elements with that distance. `room` is the gap between rows of y. */
static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room);

static void good_rows(const ferry_op_desc *op, uint32_t axis, const float *x, float *y)
{
    const int64_t *from = op->in[0].stride, *to = op->out[0].stride;
    int64_t n = op->in[0].shape[axis];

    if (axis + 1 == op->in[0].rank) {
        good_row(y, to[axis], x, from[axis], n, axis ? to[axis - 1] - n : 0);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        good_rows(op, axis + 1, x + i * from[axis], y + i * to[axis]);
}

static int good_op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    return op->kind == FERRY_OP_STRIDED_COPY && op->pass == FERRY_PASS_FORWARD &&
                   op->in[0].dtype == FERRY_F32 && op->out[0].dtype == FERRY_F32 && op->in[0].rank
               ? 0
               : FERRY_EUNSUPPORTED;
}

static int good_op_create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    ferry_op_desc *copy = malloc(sizeof(*copy));

    (void)dev;
    if (!copy)
        return good_host->error(FERRY_ENOMEM, "malloc failed");
    memcpy(copy, op, sizeof(*copy));
    *out_prepared = copy;
    return 0;
}

/* There are no constants to pack. */
static int good_op_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                           ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return 0;
}

static int good_op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    (void)dev, (void)queue;
    good_rows(prepared, 0,
              (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset),
              (float *)(void *)good_at(args->out[0].handle, args->out[0].offset));
    return 0;
}

static void good_op_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

static ferry_op_table good_op_table = {
    .struct_size = sizeof(ferry_op_table),
    .query = good_op_query,
    .create = good_op_create,
    .prepare = good_op_prepare,
    .run = good_op_run,
    .destroy = good_op_destroy,
};

static int good_extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    if (strcmp(name, FERRY_OP_EXTENSION) != 0)
        return FERRY_EUNSUPPORTED;
    *out_table = &good_op_table;
    return 0;
}

static void spoil_ops(ferry_op_table *table);

static void spoil(ferry_plugin_ops *ops)
{
    ops->extension = good_extension;
    spoil_ops(&good_op_table);
}
